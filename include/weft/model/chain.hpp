// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/repeat.hpp>

#include <type_traits>

namespace weft::inline v1::model {

/// Stands for a layer type, where a visitor needs one as an argument.
template <class Layer>
struct layer_tag {
  using type = Layer;
};

/// A model: layers one after the other. `repeat<Count, Layer>` counts as Count layers of one type, so the code of a
/// layer is compiled once, however many there are; a stage is a range of layer numbers, not a type.
template <class... Layers>
struct chain {
  static_assert(sizeof...(Layers) > 0, "weft::chain: it has no layers; name at least one");

  static constexpr int layer_count = (layer_traits<Layers>::count + ...);

  /// Calls `visitor(layer_tag<Layer>{}, index)` for layer number `layer`, where index counts the repetitions of the
  /// same `repeat` from 0. All results have the type that the visitor gives for the first layer.
  template <class Visitor>
  static constexpr auto visit(int layer, Visitor&& visitor) {
    return visit_from<Visitor, Layers...>(layer, visitor);
  }

 private:
  template <class Visitor, class First, class... Rest>
  static constexpr auto visit_from(int layer, Visitor& visitor)
      -> decltype(visitor(layer_tag<typename layer_traits<First>::layer>{}, 0)) {
    using traits = layer_traits<First>;
    if constexpr (sizeof...(Rest) > 0) {
      if (layer >= traits::count) return visit_from<Visitor, Rest...>(layer - traits::count, visitor);
    }
    return visitor(layer_tag<typename traits::layer>{}, layer);
  }
};

}  // namespace weft::inline v1::model

namespace weft::inline v1 {
using model::chain;
}
