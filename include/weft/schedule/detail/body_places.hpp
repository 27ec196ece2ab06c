// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/program_view.hpp>

#include <cstdint>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// Whether `right` is `left`, `by` micro-batches later. Of what policies write: slots and groups come with `lower`.
constexpr bool is_shifted(action const& left, action const& right, int by) {
  return left.what == right.what && left.stage == right.stage &&
         left.micro_batch + static_cast<std::uint32_t>(by) == right.micro_batch && left.copy == right.copy &&
         left.part == right.part && left.version == right.version;
}

/// Where the body stands in the rows of a table that repeats: found by comparing the rows of three counts, `step`
/// micro-batches apart. The body begins where the rows of the first two begin to differ; the third must hold it twice.
struct body_places {
  constexpr body_places(program_view const& small, program_view const& large, program_view const& larger)
      : step(large.micro_batches - small.micro_batches),
        prologue(small.ranks()),
        body(small.ranks()) {
    for (int rank = 0; rank < small.ranks() && differing < 0; ++rank)
      if (!compare(rank, small.row(rank), large.row(rank)) || !repeats(rank, large.row(rank), larger.row(rank)))
        differing = rank;
  }

  [[nodiscard]] constexpr bool found() const { return differing < 0; }

  int step;
  buffer<int> prologue;  ///< [rank]: actions in front of the body
  buffer<int> body;      ///< [rank]: actions of one body
  int differing = -1;    ///< the first rank whose rows are not those of a repetition, or -1

 private:
  constexpr bool compare(int rank, row_view small, row_view large) {
    int const length = large.size - small.size;
    if (length <= 0) return false;
    int same = 0;
    while (same < small.size && is_shifted(small.actions[same], large.actions[same], 0)) ++same;
    prologue[rank] = same;
    body[rank] = length;
    for (int index = same; index < small.size; ++index)
      if (!is_shifted(small.actions[index], large.actions[index + length], step)) return false;
    return true;
  }

  [[nodiscard]] constexpr bool repeats(int rank, row_view large, row_view larger) const {
    if (larger.size != large.size + body[rank]) return false;
    int const length = body[rank];
    int const end = prologue[rank] + length;
    for (int index = 0; index < end; ++index)
      if (!is_shifted(large.actions[index], larger.actions[index], 0)) return false;
    for (int index = prologue[rank]; index < large.size; ++index)
      if (!is_shifted(large.actions[index], larger.actions[index + length], step)) return false;
    return true;
  }
};

}  // namespace weft::inline v1::schedule::detail
