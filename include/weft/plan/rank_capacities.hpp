// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/concepts/plannable_model.hpp>
#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>
#include <weft/plan/memory.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::inline v1 {

/// What the ranks of a pipeline can do, where they are not alike: devices of two vendors, two generations, two sizes.
struct rank_capacities {
  std::vector<double> speeds{};        ///< work per time in any unit, one per rank; empty: all are equally fast
  std::vector<std::int64_t> memory{};  ///< bytes that weft may use, one per rank; empty: no limits

  [[nodiscard]] bool empty() const { return speeds.empty() && memory.empty(); }
};

namespace plan_detail {

/// How fast each stage is, from the speeds of ranks (null: all alike). A stage with two copies is as slow as its slower
/// rank.
constexpr weft::detail::buffer<double> stage_speeds(schedule::program_view const& program, double const* ranks) {
  weft::detail::buffer<double> speeds(program.stages());
  for (int each = 0; each < program.stages() * program.graph.copies; ++each) {
    double const own = ranks == nullptr ? 1.0 : ranks[program.graph.rank_of_stage[each]];
    double& speed = speeds[each % program.stages()];
    if (each < program.stages() || own < speed) speed = own;
  }
  return speeds;
}

template <class Model, class Extents>
constexpr weft::detail::buffer<double> layer_costs(Extents const& largest) {
  weft::detail::buffer<double> costs(Model::layer_count);
  for (int layer = 0; layer < Model::layer_count; ++layer)
    costs[layer] = static_cast<double>(Model::flops(layer, largest));
  return costs;
}

/// Throws unless there is nothing, or one legal value per rank.
inline void require_capacities(rank_capacities const& given, int ranks) {
  auto const require_count = [ranks](std::size_t count, char const* what) {
    if (count != 0 && count != static_cast<std::size_t>(ranks))
      throw error("weft::plan: " + std::to_string(count) + " " + what + " for " + std::to_string(ranks) +
                  " ranks of a pipeline; give one for each of them");
  };
  require_count(given.speeds.size(), "speeds");
  require_count(given.memory.size(), "memory limits");
  for (std::size_t rank = 0; rank < given.speeds.size(); ++rank)
    if (!(given.speeds[rank] > 0.0) || !std::isfinite(given.speeds[rank]))
      throw error("weft::plan: the speed of rank " + std::to_string(rank) + " is " +
                  std::to_string(given.speeds[rank]) + "; give a number above 0, such as its throughput");
  for (std::size_t rank = 0; rank < given.memory.size(); ++rank)
    if (given.memory[rank] < 1)
      throw error("weft::plan: rank " + std::to_string(rank) + " may use " + std::to_string(given.memory[rank]) +
                  " bytes; give a number above 0");
}

/// A partition whose `stage` holds this range; what the others hold says nothing. False where there is none.
inline bool place_alone(int stage, topology::layer_range const& range, int stages, int layers,
                        std::vector<int>& sizes) {
  sizes.assign(static_cast<std::size_t>(stages), 0);
  sizes.front() = range.first;
  sizes.back() = layers - range.last;
  sizes[static_cast<std::size_t>(stage)] = range.size();
  if (stage == 0 && range.first > 0) return false;
  if (stage + 1 == stages && range.last < layers) return false;
  return sizes.front() > 0 && sizes.back() > 0;
}

}  // namespace plan_detail

/// Layers over stages such that the slowest stage is as fast as it can be on ranks of these speeds, one number above 0
/// per rank: by flops per layer, so that embedding and head count for what they are. Does not communicate.
template <class Model, class Extents>
  requires plannable_model<Model, Extents>
constexpr topology::partition partition_of(schedule::program_view const& program, Extents const& largest,
                                           double const* speeds) {
  auto const costs = plan_detail::layer_costs<Model>(largest);
  auto const of_stages = plan_detail::stage_speeds(program, speeds);
  return topology::partition::by_cost(costs.data(), Model::layer_count, program.stages(), of_stages.data());
}

/// The same, and no rank needs more than its memory. Of equal partitions the one is taken whose later stages hold more,
/// so that all ranks divide alike. Throws weft::error where nothing fits.
///
/// Where a rank holds several stages, memory does not guide the search; the partition that speed makes is refused if it
/// does not fit.
template <class Model, class Real = float, class Extents>
  requires plannable_model<Model, Extents> topology::partition partition_of(schedule::program_view const& program,
                                                                            Extents const& largest,
                                                                            rank_capacities const& capacities,
                                                                            int gradient_groups = 1) {
    plan_detail::require_capacities(capacities, program.ranks());
    double const* const speeds = capacities.speeds.empty() ? nullptr : capacities.speeds.data();
    if (capacities.memory.empty()) return partition_of<Model>(program, largest, speeds);
    int const stages = program.stages();
    constexpr int layers = Model::layer_count;
    std::vector<int> held(static_cast<std::size_t>(program.ranks()));
    for (int each = 0; each < stages * program.graph.copies; ++each)
      ++held[static_cast<std::size_t>(program.graph.rank_of_stage[each])];
    std::vector<int> sizes;
    auto const fits = [&](int stage, topology::layer_range const& range) {
      auto const rank = static_cast<std::size_t>(program.graph.rank_of(stage));
      if (held[rank] != 1) return true;
      if (!plan_detail::place_alone(stage, range, stages, layers, sizes)) return false;
      auto const alone = topology::partition::of(sizes, layers);
      return memory_of_rank<Model, Real>(program, alone, largest, program.graph.rank_of(stage), gradient_groups)
                 .total() <= capacities.memory[rank];
    };
    auto const made = topology::partition::by_cost(plan_detail::layer_costs<Model>(largest).data(), layers, stages,
                                                   plan_detail::stage_speeds(program, speeds).data(), fits);
    for (std::size_t rank = 0; rank < capacities.memory.size(); ++rank) {
      std::int64_t const needs =
          memory_of_rank<Model, Real>(program, made, largest, static_cast<int>(rank), gradient_groups).total();
      if (needs > capacities.memory[rank])
        throw error("weft::plan: rank " + std::to_string(rank) + " needs " + std::to_string(needs) + " bytes of " +
                        std::to_string(capacities.memory[rank]) + " for the " + std::to_string(held[rank]) +
                        " stages that its speed gives it; name layers per stage, choose a schedule with one stage per "
                        "rank, or make the micro-batch smaller",
                    {.rank = static_cast<int>(rank)});
    }
    return made;
  }

}  // namespace weft::inline v1
