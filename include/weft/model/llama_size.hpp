// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// The sizes of a Llama: a flat structural value of whole numbers (floating-point members of template arguments are
/// news to some compilers), so that every shape, FLOP and byte count of a model is a constant.
struct llama_size {
  int vocabulary = 256;
  int positions = 128;  ///< longest sequence; no table depends on it
  int width = 128;      ///< heads times an even head width
  int heads = 4;        ///< of queries
  int kv_heads = 2;     ///< of keys and values; divides `heads`
  int hidden = 384;     ///< width inside the MLP
  int blocks = 4;
  int theta = 10000;       ///< base of the rotary wavelengths
  int epsilon_digits = 6;  ///< RMSNorm adds 10^-this to the mean square

  [[nodiscard]] constexpr int head_width() const { return width / heads; }
  [[nodiscard]] constexpr int kv_width() const { return kv_heads * head_width(); }
  [[nodiscard]] constexpr double epsilon() const {
    double power = 1.0;
    for (int digit = 0; digit < epsilon_digits; ++digit) power *= 10.0;
    return 1.0 / power;
  }

  friend constexpr bool operator==(llama_size const&, llama_size const&) = default;
};

/// About 0.85 million parameters, in blocks as large as those of GPT's `nano`; two query heads share a key and value
/// head.
inline constexpr llama_size llama_nano{
    .vocabulary = 256, .positions = 128, .width = 128, .heads = 4, .kv_heads = 2, .hidden = 384, .blocks = 4};

/// 162,417,408 parameters: the sizes of JackFram/llama-160m on Hugging Face's hub (Miao et al. 2023, SpecInfer).
inline constexpr llama_size llama_160m{
    .vocabulary = 32000, .positions = 2048, .width = 768, .heads = 12, .kv_heads = 12, .hidden = 3072, .blocks = 12};

}  // namespace weft::inline v1::model
