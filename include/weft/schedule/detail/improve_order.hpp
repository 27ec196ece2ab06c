// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/order_problem.hpp>
#include <weft/schedule/detail/order_score.hpp>
#include <weft/schedule/detail/order_search.hpp>

namespace weft::inline v1::schedule::detail {

/// Makes an order better by moves on its critical path: a pass that delays the end is put behind, or before, some of
/// its neighbours, and the move stays if the order is better for it. Deterministic; ends when no move helps or `budget`
/// actions have been played.
class improve_order {
 public:
  constexpr improve_order(order_problem const& what, order_goal wanted, order_rows& order)
      : problem(what),
        goal(wanted),
        rows(order),
        clock(what),
        begins(order.steps.size()),
        is_critical(order.steps.size()),
        place(3 * what.stages * what.micro_batches) {}

  constexpr order_score run(order_score score, int budget) {
    if (!score.found()) return score;
    int const all = problem.actions();
    for (bool moved = true; moved && budget >= all;) {
      moved = false;
      clock.run(rows, begins.data());
      budget -= all;
      find_critical(score.makespan);
      for (int rank = 0; rank < problem.ranks && !moved; ++rank)
        for (int at = 0; at < rows.size[rank] && !moved; ++at) {
          if (!is_critical[rank * rows.width + at]) continue;
          for (int distance = 1; distance <= farthest && !moved; ++distance)
            for (int direction = -1; direction <= 1 && !moved; direction += 2) {
              int const to = at + direction * distance;
              if (to < 0 || to >= rows.size[rank] || budget < all) continue;
              if (same_work(rank, at, to)) continue;
              move(rank, at, to);
              order_score const tried = clock.run(rows);
              budget -= all;
              moved = tried.found() && is_better(tried, score, goal);
              if (moved)
                score = tried;
              else
                move(rank, to, at);
            }
        }
    }
    return score;
  }

 private:
  static constexpr int farthest = 6;

  [[nodiscard]] constexpr order_step& step(int rank, int position) { return rows.steps[rank * rows.width + position]; }

  /// A move past a pass of the same kind on the same stage changes nothing or undoes itself.
  [[nodiscard]] constexpr bool same_work(int rank, int from, int to) {
    order_step const& one = step(rank, from);
    order_step const& other = step(rank, to);
    return one.what == other.what && one.stage == other.stage;
  }

  constexpr void move(int rank, int from, int to) {
    order_step const taken = step(rank, from);
    for (; from < to; ++from) step(rank, from) = step(rank, from + 1);
    for (; from > to; --from) step(rank, from) = step(rank, from - 1);
    step(rank, to) = taken;
  }

  /// Marks the passes between which no time is lost on the way to the last end.
  constexpr void find_critical(double makespan) {
    buffer<int> next(3 * problem.stages);
    for (int rank = 0; rank < problem.ranks; ++rank)
      for (int at = 0; at < rows.size[rank]; ++at) {
        int const which = 3 * step(rank, at).stage + kind_of(step(rank, at).what);
        place[which * problem.micro_batches + next[which]++] = rank * rows.width + at;
        is_critical[rank * rows.width + at] = false;
      }
    buffer<int> open(rows.steps.size());
    int count = 0;
    auto const mark = [&](int index) {
      if (is_critical[index]) return;
      is_critical[index] = true;
      open[count++] = index;
    };
    double const slack = 1e-9 * makespan;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      int const last = rank * rows.width + rows.size[rank] - 1;
      if (begins[last] + problem.length(rows.steps[last]) >= makespan - slack) mark(last);
    }
    buffer<int> turn(rows.steps.size());  // which micro-batch a step is
    for (int which = 0; which < 3 * problem.stages; ++which)
      for (int micro_batch = 0; micro_batch < next[which]; ++micro_batch)
        turn[place[which * problem.micro_batches + micro_batch]] = micro_batch;
    while (count > 0) {
      int const index = open[--count];
      order_step const& now = rows.steps[index];
      if (index % rows.width > 0 && ends(index - 1) >= begins[index] - slack) mark(index - 1);
      int const before = source(now, turn[index]);
      if (before < 0) continue;
      double const hop = rows.steps[before].stage == now.stage ? 0.0
                         : now.what == op::forward             ? problem.hop[now.stage - 1]
                                                               : problem.hop[now.stage];
      if (ends(before) + hop >= begins[index] - slack) mark(before);
    }
  }

  [[nodiscard]] constexpr double ends(int index) const { return begins[index] + problem.length(rows.steps[index]); }

  /// The pass whose result a step reads from another stage (or from F on the last stage), or -1.
  [[nodiscard]] constexpr int source(order_step const& now, int micro_batch) const {
    int which = -1;
    if (now.what == op::forward && now.stage > 0) which = 3 * (now.stage - 1);
    if (now.what == op::backward_input || now.what == op::backward)
      which = now.stage + 1 < problem.stages ? 3 * (now.stage + 1) + 1 : 3 * now.stage;
    return which < 0 ? -1 : place[which * problem.micro_batches + micro_batch];
  }

  order_problem const& problem;
  order_goal goal;
  order_rows& rows;
  order_clock clock;
  buffer<double> begins;  ///< [rank * width + position]
  buffer<bool> is_critical;
  buffer<int> place;  ///< [stage][kind][micro-batch]: rank * width + position
};

}  // namespace weft::inline v1::schedule::detail
