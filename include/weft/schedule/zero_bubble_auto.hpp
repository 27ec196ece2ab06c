// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/costs.hpp>
#include <weft/schedule/detail/order_problem.hpp>
#include <weft/schedule/detail/order_search.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/topology/placement.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule {

/// `zero_bubble_auto` with a limit and costs that come at run time.
struct zero_bubble_auto_values {
  static constexpr char const* name = "zero-bubble-auto";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};
  int memory_limit = 0;  ///< whole activations; 0: 2 p
  cost_model const* costs = &unit_costs::value;
  int kept_percent = 0;  ///< what I leaves of an activation until W; 0: 50
  int effort = detail::effort::large;

  [[nodiscard]] static constexpr zero_bubble_auto_values of(shape const& chosen) {
    bool const measured = chosen.costs != nullptr;
    return {chosen.memory_limit, measured ? chosen.costs : &unit_costs::value, chosen.kept_percent,
            measured ? detail::effort::large : detail::effort::small};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    validity const found = check_at_least_one(ranks, micro_batches);
    if (!found.legal()) return found;
    if (memory_limit < 0) return {rule::limit_holds_one, memory_limit, 1};
    if (kept_percent < 0 || kept_percent > 100)
      return {rule::kept_is_a_percentage, kept_percent, kept_percent < 0 ? 1 : 100};
    return {};
  }

  template <class Writer>
  constexpr void write_table(int ranks, int micro_batches, Writer& put) const {
    detail::order_rows rows;
    search(ranks, micro_batches, rows);
    rows.write(ranks, put);
  }

  /// In micro-batches of one stage, from F to W: not by a formula, the search says.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    detail::order_rows rows;
    search(ranks, micro_batches, rows);
    return rows.peak_of(rank);
  }

  /// Of one rank against the makespan, where passes take the times given (the order is the one for `costs`).
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double input, double weight) const {
    program const table = schedule::write_table(ranks, micro_batches, *this);
    return cost(table.view(), {.every = {forward, input, weight}}).idle_most;
  }
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }

  /// The order itself, with its score.
  constexpr detail::order_score search(int ranks, int micro_batches, detail::order_rows& rows) const {
    topology::stage_graph const graph = topology::stage_graph::chain(ranks).place(placement{}, ranks);
    detail::order_problem problem = detail::make_order_problem(graph.view(), micro_batches, true, *costs);
    problem.limit = memory_limit > 0 ? memory_limit : 2 * ranks;
    problem.after_input = (kept_percent > 0 ? kept_percent : 50) / 100.0;
    return detail::search_order(problem, detail::order_goal::longest_span, effort, rows);
  }
};

/// The zero-bubble paper's search: given how long passes and hops take and how much a rank may keep, the order whose
/// longest span is shortest. With a limit of p it is the paper's ZB-1p, with 2 p its ZB-2p (no bubble in the span of a
/// rank, where there are micro-batches enough), and between and beyond whatever the limit allows.
///
///     rank 0  F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3 ..        p = 2, M = 4, F = I = W = 1: no rank is ever idle
///     rank 1  .. F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3        between its first and its last pass
///
/// How: ranks are played in the order of time; one that is free takes I, else F if memory allows, else W. A list of
/// rules bends this (see detail/order_search.hpp), and the best of the list, of ZB-H1 and of ZB-H2 is taken: the
/// shortest span, then the shortest makespan, then the smallest peak. As a type it tries a short list, the same while
/// compiling and at start-up; by name, or as `zero_bubble_auto_values`, a long one.
///
/// * `MemoryLimit`: activations that a rank may keep; 0 for 2 p. A micro-batch counts 1 from F to I, and
///   `KeptPercent` / 100 from I to W: the paper counts what W still needs (M_W of M_B; 37 and 43 per cent in its
///   models) and reaches ZB-2p's figures by that alone. 0 for 50. With 100 the limit is held from F to W, which is what
///   one of weft's activation slots lives: p gives ZB-H1's bubble, 2 p - 1 ZB-H2's.
/// * `Costs`: see costs.hpp; F = I = W = 1 where nothing is said
/// * idle time per rank: what the table says; in the span of every rank 0 with a limit of 2 p - 1, equal costs, M >= 2
/// p
/// * moves per boundary: M activations forward, M gradients back
///
/// Use it where times have been measured, and for stages of unequal cost. Not where the makespan counts alone, since
/// ranks then wait for each other at the optimizer step (see latency_aware.hpp).
/// Any ranks and micro-batches are legal. Deterministic. Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241,
/// sec. 3 (I is B there).
template <int MemoryLimit = 0, class Costs = unit_costs, int KeptPercent = 0>
struct zero_bubble_auto
    : fixed<zero_bubble_auto_values{MemoryLimit, &Costs::value, KeptPercent, detail::effort::small}> {};

static_assert(zero_bubble_auto<>::check(3, 2).legal() && zero_bubble_auto<-1>::check(2, 2).nearest == 1);
static_assert(zero_bubble_auto<>::idle(2, 4, 1.0, 1.0, 1.0) == 1.0);

}  // namespace weft::inline v1::schedule
