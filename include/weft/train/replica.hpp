// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/ranks_along.hpp>
#include <weft/topology/stage_graph.hpp>
#include <weft/transport/bodies_in_place.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/vendor_groups.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::inline v1::train {

/// One pipeline of a data-parallel job, as one of its ranks sees it: doors to all ranks, to those of this pipeline, and
/// to those that hold the same stages: in the other pipelines, and the other copies where a pipeline holds the model
/// twice.
class replica {
 public:
  /// `graph`: of one pipeline. Does not communicate, unless `with_library`: then it is collective among the ranks that
  /// hold the same stages, and so is destruction. `device_memory`: see make_subgroup. Throws where copies of a stage
  /// are on ranks that do not otherwise hold the same stages.
  replica(transport::endpoint& world, topology::mesh_shape const& shape, bool with_library,
          topology::stage_graph_view const& graph, std::string_view device_memory = {})
      : world_(world),
        index_(topology::coordinate_of<topology::data>(shape, world.rank())),
        count_(topology::extent_of<topology::data>(shape)),
        copies_(graph.copies) {
    if (copies_ > 1) require_same_stages(graph);
    auto const ranks = topology::ranks_along<topology::pipeline>(shape, world.rank());
    if (count_ > 1) pipeline_ = transport::make_subgroup(world, ranks);
    if (count_ * copies_ == 1) return;
    holders_of_stage_.resize(static_cast<std::size_t>(graph.stages));
    int const own = pipeline().rank();
    for (int stage = 0; stage < graph.stages; ++stage) {
      if (!holds(graph, own, stage)) continue;
      auto& door = holders_of_stage_[static_cast<std::size_t>(stage)];
      // Without copies, the same ranks in the same order for every stage.
      if (copies_ > 1 || holders_.empty())
        holders_.push_back(
            transport::make_subgroup(world, members(shape, ranks, graph, stage), with_library, device_memory));
      door = holders_.back().get();
    }
    // A rank without a stage still belongs to the line of ranks that are compared.
    if (holders_.empty())
      holders_.push_back(transport::make_subgroup(world, topology::ranks_along<topology::data>(shape, world.rank()),
                                                  with_library, device_memory));
  }

  [[nodiscard]] transport::endpoint& world() const { return world_; }
  [[nodiscard]] transport::endpoint& pipeline() const { return pipeline_ == nullptr ? world_ : *pipeline_; }
  /// Of each stage, the ranks that sum its gradients: number `pipeline * copies + copy`. Null for stages of other
  /// ranks; empty where each stage is on one rank alone.
  [[nodiscard]] std::vector<transport::endpoint*> const& holders_of_stage() const { return holders_of_stage_; }
  /// The ranks that hold the same stages as this one, and so the same bits. Null where it is alone.
  [[nodiscard]] transport::endpoint* holders() const { return holders_.empty() ? nullptr : holders_.front().get(); }

  /// Finds out whether sums over holders move from and into each rank's own memory; see transport/bodies_in_place.hpp,
  /// also for `memory`. Collective over the ranks that hold the same stages.
  void agree_on_memory(std::string_view memory, bool is_device, double deadline) {
    sums_in_place_ = !holders_.empty();
    for (auto const& each : holders_)
      sums_in_place_ = transport::bodies_in_place(*each, memory, is_device, deadline) && sums_in_place_;
  }
  [[nodiscard]] bool sums_in_place() const { return sums_in_place_; }

  /// Finds out which holders share a vendor's library, for sums in two levels; see transport/vendor_groups.hpp, also
  /// for `memory`. Collective over the ranks that hold the same stages; so is destruction.
  void group_by_vendor(std::string_view memory, bool is_device, double deadline) {
    for (auto const& each : holders_) {
      groups_.push_back(std::make_unique<transport::vendor_groups>(*each, memory, is_device, deadline));
      std::replace(holders_of_stage_.begin(), holders_of_stage_.end(), each.get(),
                   static_cast<transport::endpoint*>(groups_.back().get()));
    }
  }

  [[nodiscard]] int index() const { return index_; }    ///< coordinate along the data axis
  [[nodiscard]] int count() const { return count_; }    ///< pipelines of the job
  [[nodiscard]] int copies() const { return copies_; }  ///< of the model, in each pipeline

 private:
  static bool holds(topology::stage_graph_view const& graph, int rank, int stage) {
    for (int copy = 0; copy < graph.copies; ++copy)
      if (graph.rank_of(stage, copy) == rank) return true;
    return false;
  }

  /// Buckets of gradients are numbered by each rank for itself, so those that meet must hold the same ones.
  static void require_same_stages(topology::stage_graph_view const& graph) {
    for (int stage = 0; stage < graph.stages; ++stage)
      for (int copy = 1; copy < graph.copies; ++copy) {
        int const one = graph.rank_of(stage, 0);
        int const two = graph.rank_of(stage, copy);
        if (one == two)
          throw agreed_error("weft::trainer: rank " + std::to_string(one) + " holds copies 0 and " +
                                 std::to_string(copy) + " of stage " + std::to_string(stage) +
                                 "; place copies on two ranks (an even number of ranks where they run opposite ways)",
                             {.rank = one, .stage = stage});
        for (int other = 0; other < graph.stages; ++other)
          if (holds(graph, one, other) != holds(graph, two, other))
            throw agreed_error("weft::trainer: ranks " + std::to_string(one) + " and " + std::to_string(two) +
                                   " hold copies of stage " + std::to_string(stage) + ", but only one of them holds " +
                                   "stage " + std::to_string(other) +
                                   "; ranks that share a stage must share all of theirs, as under DualPipe and Chimera",
                               {.stage = stage});
      }
  }

  static std::vector<int> members(topology::mesh_shape const& shape, std::vector<int> const& ranks,
                                  topology::stage_graph_view const& graph, int stage) {
    std::vector<std::vector<int>> lines;  // of each copy's rank, the ranks along the data axis
    for (int copy = 0; copy < graph.copies; ++copy)
      lines.push_back(
          topology::ranks_along<topology::data>(shape, ranks[static_cast<std::size_t>(graph.rank_of(stage, copy))]));
    std::vector<int> all;
    for (std::size_t place = 0; place < lines.front().size(); ++place)
      for (auto const& line : lines) all.push_back(line[place]);
    return all;
  }

  transport::endpoint& world_;
  int index_;
  int count_;
  int copies_;
  std::unique_ptr<transport::endpoint> pipeline_;
  std::vector<std::unique_ptr<transport::endpoint>> holders_;
  std::vector<std::unique_ptr<transport::endpoint>> groups_;  // of holders_, around them
  std::vector<transport::endpoint*> holders_of_stage_;
  bool sums_in_place_ = false;
};

/// `ranks` of a pipeline times as many pipelines as the world holds; neighbours in rank differ in the data coordinate.
inline topology::mesh_shape pipelines_of(int ranks, int world) {
  if (ranks < 1 || world % ranks != 0)
    throw error("weft::trainer: the program is for " + std::to_string(ranks) + " pipeline ranks, and " +
                std::to_string(world) + " ranks are no multiple of that; start " +
                std::to_string((world / (ranks < 1 ? 1 : ranks) + 1) * ranks) + ", or plan for another number");
  topology::mesh_shape shape;
  shape.axes = 2;
  shape.name[0] = topology::pipeline::name;
  shape.name[1] = topology::data::name;
  shape.extent[0] = ranks;
  shape.extent[1] = world / ranks;
  shape.stride[0] = shape.extent[1];
  shape.stride[1] = 1;
  return shape;
}

}  // namespace weft::inline v1::train
