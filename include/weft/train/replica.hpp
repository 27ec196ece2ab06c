// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/ranks_along.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/subgroup.hpp>

#include <memory>
#include <string>

namespace weft::inline v1::train {

/// One pipeline of a data-parallel job, as one of its ranks sees it: doors to all ranks, to those of this pipeline, and
/// to those that hold the same stages of the others.
class replica {
 public:
  /// Does not communicate, unless `with_library`: then it is collective along the data axis, and so is destruction.
  replica(transport::endpoint& world, topology::mesh_shape const& shape, bool with_library)
      : world_(world),
        index_(topology::coordinate_of<topology::data>(shape, world.rank())),
        count_(topology::extent_of<topology::data>(shape)) {
    if (count_ == 1) return;
    pipeline_ = transport::make_subgroup(world, topology::ranks_along<topology::pipeline>(shape, world.rank()));
    data_ = transport::make_subgroup(world, topology::ranks_along<topology::data>(shape, world.rank()), with_library);
  }

  [[nodiscard]] transport::endpoint& world() const { return world_; }
  [[nodiscard]] transport::endpoint& pipeline() const { return pipeline_ == nullptr ? world_ : *pipeline_; }
  /// Null where there is one pipeline only.
  [[nodiscard]] transport::endpoint* data() const { return data_.get(); }

  [[nodiscard]] int index() const { return index_; }  ///< coordinate along the data axis
  [[nodiscard]] int count() const { return count_; }  ///< pipelines of the job

 private:
  transport::endpoint& world_;
  int index_;
  int count_;
  std::unique_ptr<transport::endpoint> pipeline_;
  std::unique_ptr<transport::endpoint> data_;
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
