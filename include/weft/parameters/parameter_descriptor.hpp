// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::parameters {

enum class initializer : std::uint8_t { zeros, ones, normal };

/// One parameter as its layer declares it. A layer owns no memory: `parameter_store` does.
///
/// A parameter that several layers use (a tied embedding) is declared by each of them under the same name and
/// `tie_group`, with `use_site` counting them in chain order. Each use site has a gradient accumulator of its own;
/// they are added in site order before NORM and STEP, in the serial run too, so that the split changes no bit.
struct parameter_descriptor {
  std::string name;                        ///< unique in the model, "h.3.attn.c_attn.weight"
  std::int64_t extents[4] = {1, 1, 1, 1};  ///< logical, row-major
  int dimensions = 1;
  initializer init = initializer::zeros;
  double standard_deviation = 0.0;  ///< of `initializer::normal`
  bool decay = true;                ///< weight decay applies (not to norms and biases)
  int tie_group = -1;               ///< -1: not tied
  int use_site = 0;                 ///< 0 is the owner: it counts in norms, is saved, is initialised
  bool frozen = false;

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t product = 1;
    for (int dimension = 0; dimension < dimensions; ++dimension) product *= extents[dimension];
    return product;
  }
};

}  // namespace weft::inline v1::parameters
