// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/order_problem.hpp>

namespace weft::inline v1::schedule::detail {

/// Begin and end of every step of an order, and what it is worth. Keeps its arrays from one order to the next.
class order_clock {
 public:
  explicit constexpr order_clock(order_problem const& what)
      : problem(what),
        position(what.ranks),
        clock(what.ranks),
        done(3 * what.stages),
        ended(2 * what.stages * what.micro_batches) {}

  /// Not `found` where the order deadlocks or keeps more than the limit. `begins` ([rank * width + position]) may be
  /// null.
  constexpr order_score run(order_rows const& rows, double* begins = nullptr) {
    for (int& each : position) each = 0;
    for (int& each : done) each = 0;
    for (double& each : clock) each = 0.0;
    int left = 0;
    for (int const size : rows.size) left += size;
    order_score score{0.0, 0.0, 0};
    for (bool moved = true; moved && left > 0;) {
      moved = false;
      for (int rank = 0; rank < problem.ranks; ++rank)
        for (; position[rank] < rows.size[rank]; ++position[rank], --left, moved = true) {
          order_step const& step = rows.steps[rank * rows.width + position[rank]];
          double const ready = ready_at(step);
          if (ready < 0.0) break;
          double const begin = ready > clock[rank] ? ready : clock[rank];
          if (begins != nullptr) begins[rank * rows.width + position[rank]] = begin;
          clock[rank] = begin + problem.length(step);
          note(step, clock[rank]);
        }
    }
    if (left > 0) return {};
    for (int rank = 0; rank < problem.ranks; ++rank) {
      double const span = clock[rank] - first_begin(rows, rank);
      if (clock[rank] > score.makespan) score.makespan = clock[rank];
      if (span > score.longest_span) score.longest_span = span;
      if (!fits(rows, rank, score.peak)) return {};
    }
    return score;
  }

 private:
  [[nodiscard]] constexpr double ready_at(order_step const& step) const {
    int const stage = step.stage;
    if (step.what == op::forward) {
      if (stage == 0) return 0.0;
      int const micro_batch = done[3 * stage];
      return done[3 * (stage - 1)] > micro_batch ? end_of_forward(stage - 1, micro_batch) + problem.hop[stage - 1]
                                                 : -1.0;
    }
    if (step.what == op::backward_weight) return done[3 * stage + 2] < done[3 * stage + 1] ? 0.0 : -1.0;
    int const micro_batch = done[3 * stage + 1];
    if (done[3 * stage] <= micro_batch) return -1.0;
    if (stage + 1 == problem.stages) return 0.0;
    return done[3 * (stage + 1) + 1] > micro_batch ? end_of_input(stage + 1, micro_batch) + problem.hop[stage] : -1.0;
  }

  constexpr void note(order_step const& step, double end) {
    int const kind = kind_of(step.what);
    int const micro_batch = done[3 * step.stage + kind]++;
    if (kind < 2) ended[(2 * step.stage + kind) * problem.micro_batches + micro_batch] = end;
  }

  /// A rank's first step waits for nothing but its arrival; its begin is found again from that.
  [[nodiscard]] constexpr double first_begin(order_rows const& rows, int rank) const {
    if (rows.size[rank] == 0) return clock[rank];
    order_step const& step = rows.steps[rank * rows.width];
    return step.stage == 0 ? 0.0 : end_of_forward(step.stage - 1, 0) + problem.hop[step.stage - 1];
  }

  [[nodiscard]] constexpr bool fits(order_rows const& rows, int rank, int& peak) const {
    double held = 0.0;
    int kept = 0;
    for (int position_now = 0; position_now < rows.size[rank]; ++position_now) {
      op const what = rows.steps[rank * rows.width + position_now].what;
      held += problem.held_by(what);
      kept += what == op::forward ? 1 : what == op::backward_input ? 0 : -1;
      if (kept > peak) peak = kept;
      if (held > problem.limit + 1e-9) return false;
    }
    return true;
  }

  [[nodiscard]] constexpr double end_of_forward(int stage, int micro_batch) const {
    return ended[2 * stage * problem.micro_batches + micro_batch];
  }
  [[nodiscard]] constexpr double end_of_input(int stage, int micro_batch) const {
    return ended[(2 * stage + 1) * problem.micro_batches + micro_batch];
  }

  order_problem const& problem;
  buffer<int> position;
  buffer<double> clock;
  buffer<int> done;      ///< [stage][F, I or B, W]
  buffer<double> ended;  ///< [stage][F, I or B][micro-batch]
};

}  // namespace weft::inline v1::schedule::detail
