// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

constexpr bool is_shifted(action left, action const& right, int by) {
  left.micro_batch += static_cast<std::uint32_t>(by);
  return left == right;
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
    while (same < small.size && small[same] == large[same]) ++same;
    prologue[rank] = same;
    body[rank] = length;
    for (int index = same; index < small.size; ++index)
      if (!is_shifted(small[index], large[index + length], step)) return false;
    return true;
  }

  [[nodiscard]] constexpr bool repeats(int rank, row_view large, row_view larger) const {
    if (larger.size != large.size + body[rank]) return false;
    int const end = prologue[rank] + body[rank];
    for (int index = 0; index < end; ++index)
      if (larger[index] != large[index]) return false;
    for (int index = prologue[rank]; index < large.size; ++index)
      if (!is_shifted(large[index], larger[index + body[rank]], step)) return false;
    return true;
  }
};

}  // namespace weft::inline v1::schedule::detail
