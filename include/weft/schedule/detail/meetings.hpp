// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// Collectives that ranks of one pipeline wait in: NORM, which all take part in, and REDUCE_GRAD of tied parameters,
/// among the ranks that have one. A rank passes its k-th when all members have come to their k-th, so that their order
/// is checked against that of the messages. The other REDUCE_GRADs begin and do not wait. PARTIAL_NORM stands in NORM's
/// place and waits for that of the rank before alone; VALIDATE waits for an earlier step, which has been played.
class meetings {
 public:
  template <class Updates>
  constexpr meetings(program_view const& view, Updates const& updates)
      : ranks(view.ranks()),
        ties(view.ranks()),
        come(2 * view.ranks()),
        passed(2 * view.ranks()) {
    for (int which = 0; which < view.stages() * view.graph.copies; ++which)
      ties[view.graph.rank_of_stage[which]] += updates.tied[which];
  }

  [[nodiscard]] static constexpr bool is_meeting(action const& cell) {
    return cell.what == op::norm || cell.what == op::partial_norm ||
           (cell.what == op::reduce_gradient && cell.group == static_cast<std::uint8_t>(reduction::tied));
  }

  /// A rank has come to `cell`; true when it may go on.
  constexpr bool pass(int rank, action const& cell) {
    if (!is_meeting(cell)) return true;
    int const own = index(rank, cell);
    come[own] = passed[own] + 1;
    if (absent(rank, cell) >= 0) return false;
    ++passed[own];
    return true;
  }

  /// The first member that has not come, or -1.
  [[nodiscard]] constexpr int absent(int rank, action const& cell) const {
    int const wanted = passed[index(rank, cell)] + 1;
    if (cell.what == op::partial_norm) return rank > 0 && passed[index(rank - 1, cell)] < wanted ? rank - 1 : -1;
    for (int other = 0; other < ranks; ++other)
      if (other != rank && (cell.what == op::norm || ties[other] > 0) && come[index(other, cell)] < wanted)
        return other;
    return -1;
  }

 private:
  [[nodiscard]] static constexpr int index(int rank, action const& cell) {
    return 2 * rank + (cell.what == op::reduce_gradient ? 1 : 0);
  }

  int ranks;
  buffer<int> ties;    ///< [rank]: its REDUCE_GRADs of tied parameters
  buffer<int> come;    ///< [rank][NORM, REDUCE_GRAD]: to how many it has come
  buffer<int> passed;  ///< and how many of them it has behind it
};

}  // namespace weft::inline v1::schedule::detail
