// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/chain.hpp>
#include <weft/model/token_batch.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::model {

/// A chain that knows what a plan asks of a model (`plannable_model`): operations, parameters and bytes per layer, as
/// its layers say them. All constexpr.
template <class... Layers>
struct sized_chain : chain<Layers...> {
  /// Floating-point operations of one forward of one layer; backward takes twice as many.
  static constexpr std::int64_t flops(int layer, extents largest) {
    return sized_chain::visit(layer, [&](auto tag, int) { return decltype(tag)::type::flops(largest); });
  }
  /// Numbers that a layer owns.
  static constexpr std::int64_t parameter_count(int layer) {
    return sized_chain::visit(layer, [](auto tag, int) { return decltype(tag)::type::parameter_count(); });
  }
  static constexpr std::int64_t parameter_count() {
    std::int64_t sum = 0;
    for (int layer = 0; layer < sized_chain::layer_count; ++layer) sum += parameter_count(layer);
    return sum;
  }
  /// What one activation slot holds for a layer: tensors kept for backward and the layer's output.
  template <class Real = float>
  static constexpr std::int64_t activation_bytes(int layer, extents largest) {
    return sized_chain::visit(layer, [&](auto tag, int) {
      using layer_type = typename decltype(tag)::type;
      return static_cast<std::int64_t>(layer_type::template saved_bytes<Real>(largest) +
                                       rounded<Real>(layer_type::output_elements(largest)));
    });
  }
  /// What one weight-context slot holds for a layer: its tensors kept for W and the gradient of its input.
  template <class Real = float>
  static constexpr std::int64_t weight_context_bytes(int layer, extents largest) {
    return sized_chain::visit(layer, [&](auto tag, int) {
      using layer_type = typename decltype(tag)::type;
      return static_cast<std::int64_t>(
          layer_type::template weight_context_bytes<Real>(largest) +
          (layer_type::is_first ? std::size_t{0} : rounded<Real>(boundary_elements(largest))));
    });
  }
  /// Scratch memory of a layer; a rank has one workspace, as large as its most demanding layer asks.
  template <class Real = float>
  static constexpr std::int64_t workspace_bytes(int layer, extents largest) {
    return sized_chain::visit(layer, [&](auto tag, int) {
      return static_cast<std::int64_t>(decltype(tag)::type::template workspace_bytes<Real>(largest));
    });
  }
  /// Numbers that cross a boundary between two layers, the same at each: what the first layer puts out.
  static constexpr std::int64_t boundary_elements(extents largest) {
    return sized_chain::visit(0, [&](auto tag, int) { return decltype(tag)::type::output_elements(largest); });
  }

 private:
  template <class Real>
  static constexpr std::size_t rounded(std::int64_t elements) {
    arena counting;
    static_cast<void>(counting.take<Real>(elements));
    return counting.used();
  }
};

}  // namespace weft::inline v1::model
