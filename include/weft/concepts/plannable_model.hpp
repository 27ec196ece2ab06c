// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>
#include <cstdint>

namespace weft::inline v1 {

/// What a proof of memory and a partition by cost ask of a model, per layer of its chain, all constexpr. `Extents` is
/// the model's own type: the largest micro-batch.
///
/// * `layer_count`
/// * `parameter_count(layer)`: numbers, each parameter where it is owned
/// * `flops(layer, extents)`: of one forward of one micro-batch
/// * `activation_bytes(layer, extents)`: what F keeps for backward, for one micro-batch
/// * `workspace_bytes(layer, extents)`: scratch; a rank has one, as large as its most demanding layer asks
/// * `boundary_elements(extents)`: numbers that cross a boundary between two layers
///
/// Optional: `tied_parameter_count(layer)`, numbers of tied parameters that the layer uses and another one owns (each
/// use site has a copy and an accumulator of its own); `weight_context_bytes(layer, extents)`, what I keeps for W.
/// The functions in bytes may be templates on the type of numbers, `activation_bytes<Real>(layer, extents)`.
template <class Model, class Extents>
concept plannable_model = requires(int layer, Extents const& largest) {
  { Model::layer_count } -> std::convertible_to<int>;
  { Model::parameter_count(layer) } -> std::convertible_to<std::int64_t>;
  { Model::flops(layer, largest) } -> std::convertible_to<std::int64_t>;
  { Model::activation_bytes(layer, largest) } -> std::convertible_to<std::int64_t>;
  { Model::workspace_bytes(layer, largest) } -> std::convertible_to<std::int64_t>;
  { Model::boundary_elements(largest) } -> std::convertible_to<std::int64_t>;
};

}  // namespace weft::inline v1
