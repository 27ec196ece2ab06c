// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/exact_order.hpp>
#include <weft/schedule/detail/improve_order.hpp>
#include <weft/schedule/detail/order_problem.hpp>
#include <weft/schedule/detail/order_score.hpp>
#include <weft/schedule/detail/order_search.hpp>

namespace weft::inline v1::schedule::detail {

/// How long a search may take: actions played by the rules, actions played by moves, nodes of branch and bound.
struct search_budget {
  int rules;
  int moves;
  int nodes;
};
inline constexpr search_budget quick{1500, 1000, 150};
inline constexpr search_budget thorough{200'000, 300'000, 300'000};

/// Branch and bound goes as deep as there are actions.
inline constexpr int most_actions_seen_whole = 240;

struct best_order {
  order_rows rows;
  order_score score;
  bool is_proved = false;  ///< no order of these stages on these ranks is shorter
};

/// The order with the shortest makespan that rules, moves and branch and bound find. `known`, where given, is an order
/// to begin with.
constexpr best_order find_best_order(order_problem const& problem, search_budget const& budget,
                                     order_rows const* known = nullptr) {
  best_order result;
  result.score = search_order(problem, order_goal::makespan, budget.rules, result.rows);
  if (known != nullptr) {
    order_score const score = order_clock(problem).run(*known);
    if (score.found() && is_better(score, result.score, order_goal::makespan)) {
      result.rows = *known;
      result.score = score;
    }
  }
  double const bound = order_bound(problem).makespan;
  result.is_proved = !is_shorter(bound, result.score.makespan);
  if (result.is_proved) return result;
  result.score = improve_order(problem, order_goal::makespan, result.rows).run(result.score, budget.moves);
  result.is_proved = !is_shorter(bound, result.score.makespan);
  if (result.is_proved) return result;
  if (problem.actions() > most_actions_seen_whole) return result;
  exact_order exact(problem, result.score.makespan, budget.nodes);
  bool const saw_all = exact.run();
  if (exact.improved()) {
    result.rows = exact.rows();
    result.score = order_clock(problem).run(result.rows);
  }
  result.is_proved = saw_all && (problem.stages == problem.ranks || problem.limit >= 1e300);
  return result;
}

}  // namespace weft::inline v1::schedule::detail
