// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// Heads, and how they lie in a row of `qkv`: queries [heads][head_width], keys [kv_heads][head_width], then values
/// alike. Query head h looks at key and value head h / group().
struct attention_shape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  ///< divides `heads`
  std::int64_t head_width = 1;

  [[nodiscard]] constexpr std::int64_t group() const { return heads / kv_heads; }
  [[nodiscard]] constexpr std::int64_t width() const { return heads * head_width; }
  [[nodiscard]] constexpr std::int64_t kv_width() const { return kv_heads * head_width; }
  [[nodiscard]] constexpr std::int64_t row() const { return width() + 2 * kv_width(); }
};

}  // namespace weft::inline v1::model
