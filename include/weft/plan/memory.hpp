// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/concepts/plannable_model.hpp>
#include <weft/config.hpp>
#include <weft/plan/precision.hpp>
#include <weft/schedule/oldest_read.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>

#include <cstdint>
#include <type_traits>

namespace weft::inline v1 {

/// Bytes that one rank needs, by purpose: what model and program decide. What a device's libraries take is not among
/// them: the BLAS workspace (`blas::handle<Space>::workspace_bytes`), recorded calls, a vendor's communicators; nor is
/// pinned host memory, such as the chunks of `transport::staged`. See docs/devices.md.
struct memory_needs {
  std::int64_t parameters = 0;       ///< two version slots, with copies that layers read; of asynchronous programs more
  std::int64_t gradients = 0;        ///< one accumulator per use site
  std::int64_t optimizer = 0;        ///< two moments, two version slots each
  std::int64_t activations = 0;      ///< as many as the rank's slots
  std::int64_t weight_contexts = 0;  ///< between I and W; of one layer where B does both
  std::int64_t wire = 0;             ///< buffers of boundaries, of tied gradients from other ranks, of sums over data
  std::int64_t workspace = 0;

  [[nodiscard]] constexpr std::int64_t total() const {
    return parameters + gradients + optimizer + activations + weight_contexts + wire + workspace;
  }
  friend constexpr bool operator==(memory_needs const&, memory_needs const&) = default;
};

namespace plan_detail {

template <class Model, class Real, class Extents>
constexpr std::int64_t activation_bytes(int layer, Extents const& largest) {
  if constexpr (requires { Model::template activation_bytes<Real>(layer, largest); })
    return static_cast<std::int64_t>(Model::template activation_bytes<Real>(layer, largest));
  else
    return static_cast<std::int64_t>(Model::activation_bytes(layer, largest));
}

template <class Model, class Real, class Extents>
constexpr std::int64_t weight_context_bytes(int layer, Extents const& largest) {
  if constexpr (requires { Model::template weight_context_bytes<Real>(layer, largest); })
    return static_cast<std::int64_t>(Model::template weight_context_bytes<Real>(layer, largest));
  else if constexpr (requires { Model::weight_context_bytes(layer, largest); })
    return static_cast<std::int64_t>(Model::weight_context_bytes(layer, largest));
  else
    return 0;
}

template <class Model, class Real, class Extents>
constexpr std::int64_t workspace_bytes(int layer, Extents const& largest) {
  if constexpr (requires { Model::template workspace_bytes<Real>(layer, largest); })
    return static_cast<std::int64_t>(Model::template workspace_bytes<Real>(layer, largest));
  else
    return static_cast<std::int64_t>(Model::workspace_bytes(layer, largest));
}

/// Parameters that a stage must hold for a layer: its own, and its copies of tied ones.
template <class Model>
constexpr std::int64_t held_parameters(int layer) {
  if constexpr (requires { Model::tied_parameter_count(layer); })
    return static_cast<std::int64_t>(Model::parameter_count(layer)) +
           static_cast<std::int64_t>(Model::tied_parameter_count(layer));
  else
    return static_cast<std::int64_t>(Model::parameter_count(layer));
}

/// Of these, numbers whose value and moments the rank keeps already: those of the embedding's table (layer 0 owns it)
/// where it holds that layer too, of whichever copy.
template <class Model>
constexpr std::int64_t shared_parameters(schedule::program_view const& program, topology::partition const& layers,
                                         int rank, int layer) {
  if constexpr (requires { Model::tied_parameter_count(layer); })
    for (int copy = 0; copy < program.graph.copies; ++copy)
      if (program.graph.rank_of(layers.stage_of(0), copy) == rank)
        return static_cast<std::int64_t>(Model::tied_parameter_count(layer));
  return 0;
}

/// Numbers of tied gradients that a rank receives: those of the embedding's table (layer 0 owns it) where the other use
/// site is on another rank.
template <class Model>
constexpr std::int64_t tied_from_elsewhere(schedule::program_view const& program, topology::partition const& layers,
                                           int rank) {
  std::int64_t numbers = 0;
  if constexpr (requires { Model::tied_parameter_count(0); }) {
    for (int copy = 0; copy < program.graph.copies; ++copy) {
      int const owner = program.graph.rank_of(layers.stage_of(0), copy);
      for (int layer = 0; layer < Model::layer_count; ++layer) {
        int const user = program.graph.rank_of(layers.stage_of(layer), copy);
        if (user != owner && (rank == user || rank == owner))
          numbers += static_cast<std::int64_t>(Model::tied_parameter_count(layer));
      }
    }
  }
  return numbers;
}

/// Numbers that an asynchronous program keeps of tied gradients on a rank with a use site: both sites' of every step
/// from the one that has just ended to the one whose sum is applied now (train/window_plan.hpp says how far apart).
template <class Model>
constexpr std::int64_t tied_under_way(schedule::program_view const& program, topology::partition const& layers,
                                      int rank) {
  std::int64_t numbers = 0;
  if constexpr (requires { Model::tied_parameter_count(0); }) {
    int steps = 0;
    for (schedule::action const& each : program.row(rank)) steps += each.what == schedule::op::step;
    int const of_one = steps > 0 && program.micro_batches >= steps ? program.micro_batches / steps : 1;
    int const delay = (program.ranks() + of_one - 1) / of_one;
    int const owner = program.graph.rank_of(layers.stage_of(0));
    for (int layer = 0; layer < Model::layer_count; ++layer)
      if (int const user = program.graph.rank_of(layers.stage_of(layer)); rank == user || rank == owner)
        numbers += 2 * (delay + 1) * static_cast<std::int64_t>(Model::tied_parameter_count(layer));
  }
  return numbers;
}

/// Whether a rank's row has a B of this stage.
constexpr bool has_whole_backward(schedule::program_view const& program, int rank, int stage) {
  if (!program.work.backward) return false;
  for (schedule::action const& each : program.row(rank))
    if (each.what == schedule::op::backward && each.stage == stage) return true;
  return false;
}

/// A wire buffer: a prefix of 128 bytes, then the components, each at a multiple of 64.
constexpr std::int64_t wire_bytes(std::int64_t payload) { return 128 + (payload + 63) / 64 * 64; }

}  // namespace plan_detail

/// Layers over stages, the forward time of each estimated by its flops; what the trainer does where nothing else is
/// said.
template <class Model, class Extents>
  requires plannable_model<Model, Extents>
constexpr topology::partition partition_of(int stages, Extents const& largest) {
  weft::detail::buffer<double> costs(Model::layer_count);
  for (int layer = 0; layer < Model::layer_count; ++layer)
    costs[layer] = static_cast<double>(Model::flops(layer, largest));
  return topology::partition::by_cost(costs.data(), Model::layer_count, stages);
}

/// What a rank needs to play a lowered program with this model: of both its stages where there are two copies. Tensors
/// are counted without the padding between them (at most 63 numbers each). Does not communicate.
template <class Model, class Real = float, class Extents>
  requires plannable_model<Model, Extents>
constexpr memory_needs memory_of_rank(schedule::program_view const& program, topology::partition const& layers,
                                      Extents const& largest, int rank, int gradient_groups = 1) {
  using numbers = precision_of<Real>;
  using compute = typename numbers::compute;
  constexpr std::int64_t weight_bytes = std::int64_t{sizeof(typename numbers::weight)};
  constexpr std::int64_t copy_bytes =
      std::is_same_v<typename numbers::weight, compute> ? 0 : std::int64_t{sizeof(compute)};
  memory_needs needs;
  auto const crossing = static_cast<std::int64_t>(Model::boundary_elements(largest));
  std::int64_t const boundary = plan_detail::wire_bytes(crossing * std::int64_t{sizeof(typename numbers::wire)});
  std::int64_t const gradient = crossing * std::int64_t{sizeof(compute)};
  std::int64_t one_layer = 0;
  for (int each = 0; each < program.stages() * program.graph.copies; ++each) {
    if (program.graph.rank_of_stage[each] != rank) continue;
    int const stage = each % program.stages();
    schedule::slot_counts const& slots = program.slots[each];
    int const activation_slots = slots.activation > 1 ? slots.activation : 1;
    bool const has_whole =
        slots.weight_context == 0 ? program.work.backward : plan_detail::has_whole_backward(program, rank, stage);
    topology::layer_range const held = layers[stage];
    int const read = program.work.asynchronous ? schedule::oldest_read(program, stage, each / program.stages()) + 1 : 1;
    for (int layer = held.first; layer < held.last; ++layer) {
      std::int64_t const held_numbers = plan_detail::held_parameters<Model>(layer);
      std::int64_t const own_numbers =
          held_numbers - plan_detail::shared_parameters<Model>(program, layers, rank, layer);
      std::int64_t const parameters = held_numbers * weight_bytes;
      std::int64_t const valued = own_numbers * weight_bytes;
      needs.parameters += (read > 2 ? read : 2) * (valued + own_numbers * copy_bytes);
      if (program.work.backward) {
        needs.gradients += gradient_groups * parameters;
        needs.optimizer += 4 * valued;
      }
      if (program.work.reduces_over_data || program.work.reduces_over_copies) {
        std::int64_t const scratch = collective::scratch_segments * collective::segment_bytes;
        needs.wire += parameters < scratch ? parameters : scratch;
      }
      needs.activations += activation_slots * plan_detail::activation_bytes<Model, compute>(layer, largest);
      std::int64_t const context = plan_detail::weight_context_bytes<Model, compute>(layer, largest);
      needs.weight_contexts += slots.weight_context * context;
      // A layer's context holds the gradient of its input; B needs that of its output beside it.
      if (has_whole && context + gradient > one_layer) one_layer = context + gradient;
      std::int64_t const workspace = plan_detail::workspace_bytes<Model, compute>(layer, largest);
      if (workspace > needs.workspace) needs.workspace = workspace;
    }
    for (int edge = 0; edge < program.graph.edge_count; ++edge) {
      if (program.graph.edges[edge].destination == stage)
        needs.wire += (slots.receive_forward + slots.send_backward) * boundary;
      if (program.graph.edges[edge].source == stage)
        needs.wire += (slots.send_forward + slots.receive_backward + (program.recomputes ? 1 : 0)) * boundary;
    }
  }
  needs.weight_contexts += one_layer;
  if (program.work.backward)
    needs.wire += (program.work.asynchronous ? plan_detail::tied_under_way<Model>(program, layers, rank)
                                             : plan_detail::tied_from_elsewhere<Model>(program, layers, rank)) *
                  weight_bytes;
  if constexpr (!std::is_same_v<compute, typename numbers::wire>) needs.workspace += 3 * gradient;
  return needs;
}

/// The rank that needs most, and what it needs.
struct heaviest_rank {
  int rank = 0;
  memory_needs needs;
};

template <class Model, class Real = float, class Extents>
constexpr heaviest_rank memory_of_heaviest(schedule::program_view const& program, topology::partition const& layers,
                                           Extents const& largest, int gradient_groups = 1) {
  heaviest_rank result;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    memory_needs const needs = memory_of_rank<Model, Real>(program, layers, largest, rank, gradient_groups);
    if (rank == 0 || needs.total() > result.needs.total()) result = heaviest_rank{rank, needs};
  }
  return result;
}

}  // namespace weft::inline v1
