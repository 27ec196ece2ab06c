// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

/// The least that a proof asks of a model: six layers, the last three times as slow.
struct flat_extents {
  int tokens = 1;
};

struct flat_model {
  static constexpr int layer_count = 6;
  static constexpr std::int64_t parameter_count(int layer) { return layer == 0 ? 1000 : 100; }
  static constexpr std::int64_t flops(int layer, flat_extents largest) {
    return (layer == 5 ? 300 : 100) * largest.tokens;
  }
  static constexpr std::int64_t activation_bytes(int, flat_extents largest) { return 40 * largest.tokens; }
  static constexpr std::int64_t workspace_bytes(int, flat_extents largest) { return 8 * largest.tokens; }
  static constexpr std::int64_t boundary_elements(flat_extents largest) { return 10 * largest.tokens; }
};
