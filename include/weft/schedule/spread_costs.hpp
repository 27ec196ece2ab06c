// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule {

/// The costs of whole ranks (a model cut into one stage per rank, in rank order) spread over a schedule's stages, so
/// that schedules with different numbers of stages can be compared: with v stages on each rank a pass takes 1 / v of
/// the rank's, as do STEP and reductions. A boundary is as large as before, and a link between two ranks is what it
/// was; ranks that were no neighbours (p - 1 and 0 in a loop) get the slowest.
///
/// Owns the arrays of `model`; those of `whole` must outlive it.
class spread_costs {
 public:
  constexpr spread_costs(cost_model const& whole, topology::stage_graph_view const& graph)
      : model(whole),
        ranks_(graph.ranks),
        links_(whole.links != nullptr ? graph.edge_count : 0) {
    int const chunks = graph.stages / graph.ranks > 0 ? graph.stages / graph.ranks : 1;
    double const part = 1.0 / chunks;
    for (int rank = 0; rank < graph.ranks; ++rank) {
      stage_cost const& own = whole.of(rank, rank);
      ranks_[rank] = {own.forward * part, own.backward_input * part, own.backward_weight * part, own.overlapped * part};
    }
    model.stages = nullptr;
    model.ranks = ranks_.data();
    model.step = whole.step * part;
    model.reduce_data = whole.reduce_data * part;
    if (whole.steps != nullptr || whole.reductions != nullptr) {
      steps_ = weft::detail::buffer<double>(graph.stages);
      reductions_ = weft::detail::buffer<double>(graph.stages);
      for (int stage = 0; stage < graph.stages; ++stage) {
        int const rank = graph.rank_of(stage);
        steps_[stage] = (whole.steps != nullptr ? whole.steps[rank] : whole.step) * part;
        reductions_[stage] = (whole.reductions != nullptr ? whole.reductions[rank] : whole.reduce_data) * part;
      }
      model.steps = steps_.data();
      model.reductions = reductions_.data();
    }
    if (whole.links == nullptr) return;
    for (int edge = 0; edge < graph.edge_count; ++edge) {
      int const one = graph.rank_of(graph.edges[edge].source);
      int const other = graph.rank_of(graph.edges[edge].destination);
      int const lower = one < other ? one : other;
      bool const neighbours = one + other == 2 * lower + 1;
      links_[edge] = neighbours ? whole.links[lower] : slowest(whole, graph.ranks - 1);
    }
    model.links = links_.data();
  }
  spread_costs(spread_costs const&) = delete;
  spread_costs& operator=(spread_costs const&) = delete;

  cost_model model;

 private:
  [[nodiscard]] static constexpr link_cost slowest(cost_model const& whole, int count) {
    link_cost found = whole.link;
    for (int edge = 0; edge < count; ++edge) {
      link_cost const& each = whole.links[edge];
      if (edge == 0 || each.latency + each.transfer() > found.latency + found.transfer()) found = each;
    }
    return found;
  }

  weft::detail::buffer<stage_cost> ranks_;
  weft::detail::buffer<link_cost> links_;
  weft::detail::buffer<double> steps_;
  weft::detail::buffer<double> reductions_;
};

}  // namespace weft::inline v1::schedule
