// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/block.hpp>
#include <weft/model/embedding.hpp>
#include <weft/model/gpt_size.hpp>
#include <weft/model/head.hpp>
#include <weft/model/repeat.hpp>
#include <weft/model/sized_chain.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::model {

/// GPT-2 (Radford et al. 2019): learned positions, pre-LayerNorm blocks, GELU (tanh), tied embedding and head. Layers
/// for the partition: embedding, one per block, head. Parameter names are those of Hugging Face's GPT2LMHeadModel.
///
/// Weights start as normal(0, 0.02), wpe too, projections onto the residual stream with 0.02 / sqrt(2 blocks), biases
/// 0, norms 1.
template <gpt_size Size>
struct gpt2 : sized_chain<embedding<Size>, repeat<Size.blocks, block<Size>>, head<Size>> {
  static constexpr gpt_size size = Size;
  static constexpr int vocabulary = Size.vocabulary;
  static constexpr int positions = Size.positions;

  static std::string name() {
    return "gpt2(vocabulary " + std::to_string(Size.vocabulary) + ", positions " + std::to_string(Size.positions) +
           ", width " + std::to_string(Size.width) + ", heads " + std::to_string(Size.heads) + ", blocks " +
           std::to_string(Size.blocks) + ")";
  }

  /// Parameters that a layer uses and another one owns; it has its own copy and accumulator of them.
  static constexpr std::int64_t tied_parameter_count(int layer) {
    return layer + 1 == gpt2::layer_count ? std::int64_t{Size.vocabulary} * Size.width : 0;
  }
};

static_assert(gpt2<gpt2_124m>::parameter_count() == 124439808, "the count that OpenAI's release has");

}  // namespace weft::inline v1::model
