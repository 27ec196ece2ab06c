// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/order_problem.hpp>

#include <cstdint>

namespace weft::inline v1::schedule::detail {

/// The order with the shortest makespan, by branch and bound. It looks at active schedules alone (no pass can be done
/// earlier without another one being later), of which one is the best: at each node the pass that can end first names a
/// rank, and the branches are the passes that this rank could begin before then (Giffler and Thompson). Micro-batches
/// are alike, so each stage takes them in ascending order, and nothing is lost.
///
/// With several stages on a rank and a limit of activations a branch that keeps F waiting is missing, and the result is
/// the best of what was looked at.
class exact_order {
 public:
  /// `bound`: only orders with a shorter makespan are of interest. `budget`: nodes.
  constexpr exact_order(order_problem const& what, double bound, std::int64_t budget)
      : problem(what),
        best(bound),
        nodes_left(budget),
        done(3 * what.stages),
        free(what.ranks),
        left(what.ranks),
        held(what.ranks),
        forward_end(what.stages * what.micro_batches),
        input_end(what.stages * what.micro_batches),
        path(what.actions()),
        found(what.actions()),
        up(what.stages + 1),
        down(what.stages + 1),
        next_forward(what.stages) {
    for (int rank = 0; rank < problem.ranks; ++rank) left[rank] = problem.work(rank);
    // What follows a gradient that leaves stage s, and an activation that does.
    double const last_weight = problem.splits ? problem.weight[0] : 0.0;
    up[0] = last_weight;
    for (int stage = 1; stage < problem.stages; ++stage)
      up[stage] = up[stage - 1] + problem.hop[stage - 1] + problem.input[stage - 1];
    down[problem.stages - 1] = problem.input[problem.stages - 1] + up[problem.stages - 1];
    for (int stage = problem.stages - 2; stage >= 0; --stage)
      down[stage] = down[stage + 1] + problem.hop[stage] + problem.forward[stage + 1];
  }

  /// True when nothing better is left unseen.
  constexpr bool run() {
    search(0, 0.0);
    return nodes_left > 0;
  }

  [[nodiscard]] constexpr bool improved() const { return has_found; }
  [[nodiscard]] constexpr double makespan() const { return best; }
  [[nodiscard]] constexpr std::int64_t left_of_budget() const { return nodes_left; }

  [[nodiscard]] constexpr order_rows rows() const {
    order_rows result(problem);
    for (order_step const& step : found) result.put(problem.rank_of[step.stage], step.what, step.stage);
    return result;
  }

 private:
  static constexpr double never = 1e300;
  static constexpr double slack = 1e-9;

  /// When a pass may begin, or `never` while its input is not made or memory is short.
  [[nodiscard]] constexpr double earliest(int stage, int kind) const {
    int const rank = problem.rank_of[stage];
    int const next = done[3 * stage + kind];
    if (next == problem.micro_batches) return never;
    double ready = 0.0;
    if (kind == 0) {
      if (held[rank] + 1.0 > problem.limit + slack) return never;
      if (stage > 0) {
        if (done[3 * (stage - 1)] <= next) return never;
        ready = forward_end[(stage - 1) * problem.micro_batches + next] + problem.hop[stage - 1];
      }
    } else if (kind == 1) {
      if (done[3 * stage] <= next) return never;
      if (stage + 1 < problem.stages) {
        if (done[3 * (stage + 1) + 1] <= next) return never;
        ready = input_end[(stage + 1) * problem.micro_batches + next] + problem.hop[stage];
      }
    } else if (!problem.splits || done[3 * stage + 1] <= next) {
      return never;
    }
    return ready > free[rank] ? ready : free[rank];
  }

  [[nodiscard]] constexpr op op_of(int kind) const {
    return kind == 0        ? op::forward
           : kind == 2      ? op::backward_weight
           : problem.splits ? op::backward_input
                            : op::backward;
  }

  /// No order that goes on from here ends earlier.
  [[nodiscard]] constexpr double bound_here() {
    double bound = 0.0;
    buffer<double>& first = next_forward;  // when each stage's next F may begin
    for (int stage = 0; stage < problem.stages; ++stage) {
      int const next = done[3 * stage];
      double at = free[problem.rank_of[stage]];
      if (next < problem.micro_batches && stage > 0) {
        double const ready = done[3 * (stage - 1)] > next
                                 ? forward_end[(stage - 1) * problem.micro_batches + next] + problem.hop[stage - 1]
                                 : first[stage - 1] + problem.forward[stage - 1] + problem.hop[stage - 1];
        if (ready > at) at = ready;
      }
      first[stage] = at;
      int const forwards = problem.micro_batches - next;
      if (forwards > 0) {
        // The last micro-batch has all forwards of this stage before it, then goes down and up again.
        double const round = at + forwards * problem.forward[stage] + down[stage];
        if (round > bound) bound = round;
      }
      int const inputs = problem.micro_batches - done[3 * stage + 1];
      if (inputs > 0) {
        double const start = forwards == problem.micro_batches ? at : free[problem.rank_of[stage]];
        double const last = start + forwards * problem.forward[stage] + inputs * problem.input[stage] + up[stage];
        if (last > bound) bound = last;
      }
    }
    for (int stage = problem.stages - 1; stage >= 0; --stage) {
      // A rank that has not begun waits for its first stage's first F (lower stages come later in this loop).
      int const rank = problem.rank_of[stage];
      double const begin = done[3 * stage] == 0 && is_first_of_rank(stage) ? first[stage] : free[rank];
      if (left[rank] > 0.0 && begin + left[rank] > bound) bound = begin + left[rank];
    }
    return bound;
  }

  [[nodiscard]] constexpr bool is_first_of_rank(int stage) const {
    for (int before = 0; before < stage; ++before)
      if (problem.rank_of[before] == problem.rank_of[stage]) return false;
    return true;
  }

  constexpr void search(int depth, double makespan) {
    if (--nodes_left <= 0) return;
    if (depth == path.size()) {
      if (makespan >= best - slack * best) return;
      best = makespan;
      has_found = true;
      for (int index = 0; index < path.size(); ++index) found[index] = path[index];
      return;
    }
    if (bound_here() >= best - slack * best) return;
    double ends = never;
    int rank = -1;
    for (int stage = 0; stage < problem.stages; ++stage)
      for (int kind = 0; kind < 3; ++kind) {
        double const begin = earliest(stage, kind);
        if (begin >= never) continue;
        double const end = begin + problem.length({op_of(kind), stage});
        if (end >= ends) continue;
        ends = end;
        rank = problem.rank_of[stage];
      }
    if (rank < 0) return;  // memory is full of what cannot leave
    constexpr int kinds[] = {1, 0, 2};
    for (int const kind : kinds)
      for (int stage = problem.stages - 1; stage >= 0; --stage) {
        if (problem.rank_of[stage] != rank) continue;
        double const begin = earliest(stage, kind);
        double const length = problem.length({op_of(kind), stage});
        if (begin >= never || (begin >= ends && length > 0.0) || begin > ends) continue;
        take(depth, stage, kind, begin, length, makespan);
        if (nodes_left <= 0) return;
      }
  }

  constexpr void take(int depth, int stage, int kind, double begin, double length, double makespan) {
    int const rank = problem.rank_of[stage];
    int const micro_batch = done[3 * stage + kind]++;
    double const free_before = free[rank];
    double const held_before = held[rank];
    double const left_before = left[rank];
    double const end = begin + length;
    free[rank] = end;
    left[rank] -= length;
    held[rank] += problem.held_by(op_of(kind));
    if (kind == 0) forward_end[stage * problem.micro_batches + micro_batch] = end;
    if (kind == 1) input_end[stage * problem.micro_batches + micro_batch] = end;
    path[depth] = {op_of(kind), stage};
    search(depth + 1, end > makespan ? end : makespan);
    free[rank] = free_before;
    held[rank] = held_before;
    left[rank] = left_before;
    --done[3 * stage + kind];
  }

  order_problem const& problem;
  double best;
  std::int64_t nodes_left;
  bool has_found = false;
  buffer<int> done;  ///< [stage][F, I or B, W]
  buffer<double> free;
  buffer<double> left;  ///< work that a rank has not done
  buffer<double> held;
  buffer<double> forward_end;  ///< [stage][micro-batch]
  buffer<double> input_end;
  buffer<order_step> path;
  buffer<order_step> found;
  buffer<double> up;    ///< after I of a stage: all the way to stage 0, and its W
  buffer<double> down;  ///< after F of a stage: to the last stage and back to stage 0, and its W
  buffer<double> next_forward;
};

}  // namespace weft::inline v1::schedule::detail
