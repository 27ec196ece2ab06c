// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/model/call_key.hpp>
#include <weft/model/slot_buffer.hpp>
#include <weft/model/stage_layout.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/topology/partition.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::model {

/// One stage of this rank: where its layers' things lie, and its slots.
template <class MemorySpace>
struct stage_buffers {
  bool is_mine = false;
  stage_layout layout;
  slot_buffer<MemorySpace> activations;
  slot_buffer<MemorySpace> weight_contexts;
};

/// The buffers of one rank: slots of each of its stages, a workspace for the layer that is called, and room for B of
/// one. Does not communicate.
template <class Model, class Real, class Space>
class rank_buffers {
 public:
  using stage_type = stage_buffers<typename Space::memory_space>;

  /// `layers` of all stages in order; none is this rank's yet. Throws weft::error: see check_stage_layers.
  rank_buffers(std::vector<topology::layer_range> layers, extents largest)
      : layers_(std::move(layers)),
        largest_(largest),
        stages_(layers_.size()) {
    check_stage_layers<Model>(layers_, largest_);
  }

  /// Throws weft::error where there is no such stage.
  [[nodiscard]] topology::layer_range range_of(int stage) const {
    if (stage < 0 || stage >= static_cast<int>(layers_.size()))
      throw error("weft::model_stage: stage " + std::to_string(stage) + " does not exist; there are " +
                      std::to_string(layers_.size()),
                  {.stage = stage});
    return layers_[static_cast<std::size_t>(stage)];
  }

  /// A stage of this rank, whose parameters are in the store from `first_entry` on.
  stage_layout const& add(int stage, int first_entry) {
    stage_type& made = stages_[static_cast<std::size_t>(stage)];
    made.is_mine = true;
    made.layout = lay_out_stage<Model, Real, Space>(range_of(stage), first_entry, largest_, stage);
    made.activations = {"weft::activations", made.layout.activation_bytes};
    made.weight_contexts = {"weft::weight_contexts", made.layout.weight_bytes};
    both_halves_bytes_ = (std::max)(both_halves_bytes_, made.layout.both_halves_bytes);
    workspace_bytes_ = (std::max)(workspace_bytes_, made.layout.workspace_bytes);
    return made.layout;
  }

  /// When all of them were added.
  void make_workspace() { workspace_ = make("weft::workspace", workspace_bytes_); }
  void make_both_halves() {
    if (both_halves_.extent(0) < both_halves_bytes_) both_halves_ = make("weft::weight_context", both_halves_bytes_);
  }

  /// Scratch of one layer.
  [[nodiscard]] arena workspace() const { return arena(workspace_.data()); }
  /// Of B: two gradients between layers, and one layer's weight context.
  [[nodiscard]] arena both_halves() const { return arena(both_halves_.data()); }

  [[nodiscard]] stage_type& operator[](int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  /// Of a call. Throws weft::error where the stage is another rank's, or nobody has made room for the slot.
  [[nodiscard]] stage_type& of(stage_context<Space> const& where) {
    stage_type& found = (*this)[where.stage()];
    if (!found.is_mine)
      throw error("weft::model_stage: stage " + std::to_string(where.stage()) +
                      " was not given to this rank; name it in my_stages",
                  {.stage = where.stage(), .micro_batch = where.micro_batch()});
    if (where.slot() >= found.activations.count())
      throw error("weft::model_stage: activation slot " + std::to_string(where.slot()) + " of stage " +
                      std::to_string(where.stage()) + " does not exist; call prepare with the program's slots",
                  {.stage = where.stage(), .micro_batch = where.micro_batch()});
    return found;
  }

  /// What moves when buffers grow.
  void add_addresses_to(call_key& key, stage_type const& stage) const {
    key.add(stage.activations.data());
    key.add(stage.weight_contexts.data());
    key.add(both_halves_.data());
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = workspace_.extent(0) + both_halves_.extent(0);
    for (auto const& each : stages_) sum += each.activations.bytes() + each.weight_contexts.bytes();
    return sum;
  }

 private:
  using view = Kokkos::View<std::byte*, typename Space::memory_space>;
  static view make(char const* label, std::size_t size) {
    return execution::allocate<view>(label, size, Kokkos::WithoutInitializing);
  }

  std::vector<topology::layer_range> layers_;
  extents largest_;
  std::vector<stage_type> stages_;
  view workspace_;
  view both_halves_;
  std::size_t workspace_bytes_ = 0;
  std::size_t both_halves_bytes_ = 0;
};

}  // namespace weft::inline v1::model
