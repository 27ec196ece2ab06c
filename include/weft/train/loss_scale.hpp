// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace weft::inline v1::train {

/// What the loss is multiplied by before backward, and gradients are divided by in STEP: float16 has no room for small
/// gradients (Micikevicius et al. 2018). Scales are powers of two, so that nothing is rounded by them.
///
/// A dynamic scale is halved by a step whose gradient norm is not finite, which no rank counts, and doubled after
/// `grow_after` counted steps in a row. Every rank knows the norm from NORM, and so the scale: it needs no message.
struct loss_scaling {
  enum class kind : std::uint8_t {
    automatic,  ///< dynamic where gradients of activations are float16 in layers or in messages, else none
    none,
    fixed,
    dynamic
  };
  static constexpr double least = 1.0;
  static constexpr double most = 1073741824.0;  ///< 2^30

  kind how = kind::automatic;
  double first = 65536.0;  ///< the scale of the first step, and of all where it is fixed
  int grow_after = 2000;   ///< steps

  static constexpr loss_scaling none() { return {.how = kind::none}; }
  static constexpr loss_scaling fixed(double scale) { return {.how = kind::fixed, .first = scale}; }
  static constexpr loss_scaling dynamic(double first = 65536.0, int grow_after = 2000) {
    return {.how = kind::dynamic, .first = first, .grow_after = grow_after};
  }

  /// A power of two within limits.
  static bool is_scale(double scale) {
    int exponent = 0;
    return scale >= least && scale <= most && std::frexp(scale, &exponent) == 0.5;
  }

  /// With `automatic` resolved. Throws where a scale is no power of two within limits.
  [[nodiscard]] loss_scaling checked(bool is_float16) const {
    loss_scaling made = *this;
    if (how == kind::automatic) made.how = is_float16 ? kind::dynamic : kind::none;
    if (made.how == kind::none) made.first = 1.0;
    if (!is_scale(made.first))
      throw error("weft::trainer: the loss scale is " + std::to_string(made.first) +
                  ", which is no power of two from 1 to 2^30; choose one, such as 65536");
    if (made.how == kind::dynamic && made.grow_after < 1)
      throw error("weft::trainer: the loss scale is to grow after " + std::to_string(made.grow_after) +
                  " steps; name one or more, such as 2000");
    return made;
  }

  /// For the facts that ranks agree on.
  [[nodiscard]] std::string text() const {
    if (how == kind::none) return "none";
    char number[32];
    std::snprintf(number, sizeof number, "%g", first);
    if (how == kind::fixed) return std::string("fixed ") + number;
    return std::string(how == kind::automatic ? "automatic, " : "dynamic, ") + number + " at first, doubled after " +
           std::to_string(grow_after);
  }
};

/// Where a dynamic scale stands: what is saved, and resumed.
struct loss_scale_state {
  double scale = 1.0;
  std::int64_t counted = 0;  ///< steps since the scale changed last

  friend bool operator==(loss_scale_state const&, loss_scale_state const&) = default;
};

/// The scale of the step that follows one that was counted, or not.
inline loss_scale_state next_scale(loss_scaling const& how, loss_scale_state const& now, bool is_counted) {
  if (how.how != loss_scaling::kind::dynamic) return now;
  if (!is_counted) return {now.scale > loss_scaling::least ? now.scale / 2 : now.scale, 0};
  if (now.counted + 1 < how.grow_after) return {now.scale, now.counted + 1};
  return {now.scale < loss_scaling::most ? now.scale * 2 : now.scale, 0};
}

}  // namespace weft::inline v1::train
