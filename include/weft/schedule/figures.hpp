// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/play.hpp>

namespace weft::inline v1::schedule {

/// One rank's figures: times, and what it keeps at its peak.
struct rank_summary {
  double span = 0.0;  ///< from its first pass to the end of its last
  double busy = 0.0;
  double idle = 0.0;  ///< against the makespan
  double work = 0.0;  ///< its F, I and W (B) as the costs of its stages say, without recompute and stragglers
  rank_figures peaks;
};

/// What `weft-schedule time` says of a program.
struct schedule_figures {
  verdict proof;  ///< where it is not playable, nothing else here is valid
  cost_summary cost;
  double work = 0.0;         ///< of the rank that has most: M (F + I + W) where ranks are equal
  double bubble_rate = 0.0;  ///< (longest span - work) / longest span, as the zero-bubble paper has it
  weft::detail::buffer<rank_summary> ranks;
};

/// Plays and prices a program. Does not communicate.
constexpr schedule_figures figures_of(program_view const& program, cost_model const& model = {}) {
  schedule_figures result;
  int const count = program.ranks();
  weft::detail::buffer<rank_figures> peaks(count);
  weft::detail::buffer<rank_time> times(count);
  result.proof = play(program, send_model::rendezvous, peaks.data());
  if (!result.proof.playable()) return result;
  result.cost = cost(program, model, nullptr, times.data());
  result.ranks = weft::detail::buffer<rank_summary>(count);
  for (int rank = 0; rank < count; ++rank) {
    rank_summary& each = result.ranks[rank];
    each = {times[rank].span(), times[rank].busy, result.cost.makespan - times[rank].busy, 0.0, peaks[rank]};
    for (action const& cell : program.row(rank)) {
      stage_cost const& own = model.of(cell.stage, rank);
      if (cell.what == op::forward) each.work += own.forward;
      if (cell.what == op::backward || cell.what == op::backward_input) each.work += own.backward_input;
      if (cell.what == op::backward || cell.what == op::backward_weight) each.work += own.backward_weight;
    }
    if (each.work > result.work) result.work = each.work;
  }
  double const longest = result.cost.longest_span;
  if (longest > 0.0) result.bubble_rate = (longest - result.work) / longest;
  return result;
}

}  // namespace weft::inline v1::schedule
