// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/topology/partition.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::model {

/// Parameters of one layer, every use site of tied ones.
template <class Model>
std::vector<parameters::parameter_descriptor> describe(int layer) {
  return Model::visit(layer, [](auto tag, int index) { return decltype(tag)::type::describe(index); });
}

/// The same of any range of layers, in their order.
template <class Model>
std::vector<parameters::parameter_descriptor> describe(topology::layer_range range) {
  std::vector<parameters::parameter_descriptor> all;
  for (int layer = range.first; layer < range.last; ++layer)
    for (auto& each : describe<Model>(layer)) all.push_back(std::move(each));
  return all;
}

/// Throws weft::error unless the ranges follow each other from 0 to Model::layer_count, and sequences fit. The rule is
/// the partition's own: among others, no empty stage at either end, since the ranks of the first and the last stage
/// take part in the reduction of tied gradients.
template <class Model>
void check_stage_layers(std::vector<topology::layer_range> const& layers, extents largest) {
  std::vector<int> sizes;
  int next = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    if (layers[stage].first != next)
      throw error("weft::model_stage: stage " + std::to_string(stage) + " has layers [" +
                      std::to_string(layers[stage].first) + ", " + std::to_string(layers[stage].last) +
                      "), but must begin with layer " + std::to_string(next) +
                      "; give every stage the range that follows its predecessor's",
                  {.stage = static_cast<int>(stage)});
    next = layers[stage].last;
    sizes.push_back(layers[stage].size());
  }
  auto const check = topology::check_sizes(sizes.data(), static_cast<int>(sizes.size()), Model::layer_count);
  if (!check.legal()) throw error(topology::explain(check), {.stage = check.stage});
  if (largest.sequences_per_micro_batch < 0 || largest.sequence_length < 1 ||
      largest.sequence_length > Model::positions)
    throw error("weft::model_stage: sequences of " + std::to_string(largest.sequence_length) +
                " tokens do not fit the model's " + std::to_string(Model::positions) +
                " positions; choose a length from 1 to that");
}

/// Where a layer's things lie in its stage's slots, in bytes from the slot's begin.
struct layer_layout {
  int number = 0;       ///< in the whole model
  int first_entry = 0;  ///< of its parameters in the store
  int entries = 0;
  std::size_t saved = 0;    ///< in the activation slot
  std::size_t output = 0;   ///< in the activation slot, unless it is the stage's last layer
  std::size_t kept = 0;     ///< in the weight-context slot
  std::size_t grad_in = 0;  ///< in the weight-context slot, unless it is the stage's first layer
};

/// The layout of one stage. An activation slot holds what its layers keep and the outputs between them; a
/// weight-context slot what I leaves for W of all its layers, and the gradients between them.
struct stage_layout {
  topology::layer_range range{};
  std::vector<layer_layout> layers;
  std::size_t activation_bytes = 0;
  std::size_t weight_bytes = 0;
  std::size_t both_halves_bytes = 0;  ///< of B: two gradients between layers, and the largest layer's weight context
  std::size_t workspace_bytes = 0;
  bool has_embedding = false;
  bool has_head = false;

  /// Whether some layer reads the call's sheet while nothing is dropped: tokens, or the head the loss scale.
  [[nodiscard]] bool reads_tokens() const { return has_embedding || has_head; }
};

/// Some layers work otherwise on a device, with less scratch than a plan announces.
template <class Layer, class Real, class Space>
std::size_t workspace_of(extents largest) {
  if constexpr (requires { Layer::template workspace_bytes<Real, Space>(largest); }) {
    return Layer::template workspace_bytes<Real, Space>(largest);
  } else {
    return Layer::template workspace_bytes<Real>(largest);
  }
}

/// Of layers whose parameters are in the store from `first_entry` on. Throws weft::error for a layer of too many
/// parameters; `stage` is for its words.
template <class Model, class Real, class Space>
stage_layout lay_out_stage(topology::layer_range range, int first_entry, extents largest, int stage) {
  stage_layout made;
  made.range = range;
  int entry = first_entry;
  arena saved;
  arena kept;
  for (int number = range.first; number < range.last; ++number) {
    layer_layout one;
    one.number = number;
    one.first_entry = entry;
    one.entries = static_cast<int>(describe<Model>(number).size());
    if (one.entries > layer_parameters<Real>::most)
      throw error("weft::model_stage: layer " + std::to_string(number) + " describes " + std::to_string(one.entries) +
                      " parameters, and a layer may have " + std::to_string(layer_parameters<Real>::most) +
                      "; cut it into several layers",
                  {.stage = stage});
    entry += one.entries;
    Model::visit(number, [&](auto tag, int) {
      using layer = typename decltype(tag)::type;
      made.has_embedding = made.has_embedding || layer::is_first;
      made.has_head = made.has_head || layer::is_last;
      auto const saved_bytes = static_cast<std::int64_t>(layer::template saved_bytes<Real>(largest));
      auto const context_bytes = static_cast<std::int64_t>(layer::template weight_context_bytes<Real>(largest));
      one.saved = saved.used();
      static_cast<void>(saved.take<std::byte>(saved_bytes));
      one.output = saved.used();
      if (number + 1 < range.last) static_cast<void>(saved.take<Real>(layer::output_elements(largest)));
      arena one_layer;
      for (int gradient = 0; gradient < 2; ++gradient)
        static_cast<void>(one_layer.take<Real>(Model::boundary_elements(largest)));
      static_cast<void>(one_layer.take<std::byte>(context_bytes));
      made.both_halves_bytes = (std::max)(made.both_halves_bytes, one_layer.used());
      one.kept = kept.used();
      static_cast<void>(kept.take<std::byte>(context_bytes));
      one.grad_in = kept.used();
      if (number > range.first) static_cast<void>(kept.take<Real>(Model::boundary_elements(largest)));
      made.workspace_bytes = (std::max)(made.workspace_bytes, workspace_of<layer, Real, Space>(largest));
    });
    made.layers.push_back(one);
  }
  made.activation_bytes = saved.used();
  made.weight_bytes = kept.used();
  return made;
}

}  // namespace weft::inline v1::model
