// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/costs.hpp>
#include <weft/schedule/detail/best_order.hpp>
#include <weft/schedule/detail/order_problem.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/topology/placement.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule {

/// `latency_aware` on one stage per rank, with a limit and costs that come at run time.
struct latency_aware_values {
  static constexpr char const* name = "latency-aware";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};
  int memory_limit = 0;  ///< activations kept from F to W; 0: as many as there are micro-batches
  cost_model const* costs = &unit_costs::value;
  bool is_thorough = true;

  [[nodiscard]] static constexpr latency_aware_values of(shape const& chosen) {
    bool const measured = chosen.costs != nullptr;
    return {chosen.memory_limit, measured ? chosen.costs : &unit_costs::value, measured};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    validity const found = check_at_least_one(ranks, micro_batches);
    if (!found.legal()) return found;
    if (memory_limit < 0) return {rule::limit_holds_one, memory_limit, 1};
    return {};
  }

  template <class Writer>
  constexpr void write_table(int ranks, int micro_batches, Writer& put) const {
    search(ranks, micro_batches).rows.write(ranks, put);
  }

  /// In micro-batches of one stage, from F to W: not by a formula, the search says.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    return search(ranks, micro_batches).rows.peak_of(rank);
  }

  /// Of one rank against the makespan, where passes take the times given (the order is the one for `costs`).
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double input, double weight) const {
    program const table = schedule::write_table(ranks, micro_batches, *this);
    return cost(table.view(), {.every = {forward, input, weight}}).idle_most;
  }
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }

  /// The order, its score, and whether it is proved to be the best there is on one stage per rank.
  [[nodiscard]] constexpr detail::best_order search(int ranks, int micro_batches) const {
    topology::stage_graph const graph = topology::stage_graph::chain(ranks).place(placement{}, ranks);
    detail::order_problem problem = detail::make_order_problem(graph.view(), micro_batches, true, *costs);
    if (memory_limit > 0) problem.limit = memory_limit;
    return detail::find_best_order(problem, is_thorough ? detail::thorough : detail::quick);
  }
};

/// An order made to measure: given how long passes take on each stage and messages on each hop, one that needs no more
/// time, from the first pass to the last, than the best of those with a name.
///
///     rank 0  F0 F1 F2 F3 F4 .. .. .. .. I0 W0 I1 W1 I2 W2 I3 W3 I4 W4      p = 2, M = 5, a hop of 3 passes:
///     rank 1  .. .. .. .. F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4      19, where the best with a name needs 22
///
/// How: the family of 1F1B (1F1B, eager, ZB-H1, ZB-H2, GPipe) and the list of rules of zero_bubble_auto; the best of
/// them is made better by moves on its critical path, and then branch and bound looks for anything shorter: for small
/// shapes it sees everything, and the order is the optimum (`search` says whether it was proved).
///
/// * As a type: one stage per rank; backward is split. By name ("latency-aware"): of the registry's schedules with one
///   copy of the weights that keep to the limit the best is taken up as well, and the search goes over the placements
///   (loops of several chunks, V) of the best few.
/// * `MemoryLimit`: activations that a rank may keep from F to W; 0 for no limit
/// * `Costs`: see costs.hpp; F = I = W = 1 and no hops where nothing is said
/// * idle time and peak: what the table says
/// * moves per boundary: M activations forward, M gradients back
///
/// Use it where hops are long against passes (between sites, over host memory), or stages are unequal. Not before times
/// have been measured: an order made to wrong measures may be worse than ZB-H1. It makes the makespan short;
/// zero_bubble_auto the span of each rank, for post-validated steps.
/// Any ranks and micro-batches are legal. Deterministic. Chen et al., CrossPipe, arXiv 2507.00217.
template <int MemoryLimit = 0, class Costs = unit_costs>
struct latency_aware : fixed<latency_aware_values{MemoryLimit, &Costs::value, false}> {};

static_assert(latency_aware<>::check(3, 2).legal() && latency_aware<-1>::check(2, 2).nearest == 1);

}  // namespace weft::inline v1::schedule
