// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/llama_block.hpp>
#include <weft/model/llama_embedding.hpp>
#include <weft/model/llama_head.hpp>
#include <weft/model/llama_size.hpp>
#include <weft/model/repeat.hpp>
#include <weft/model/sized_chain.hpp>

#include <string>

namespace weft::inline v1::model {

/// Llama (Touvron et al. 2023): rotary positions, RMSNorm before the branches, gated MLP, grouped-query attention, an
/// output table of its own, no biases, no dropout. Layers for the partition: embedding, one per block, head. Parameter
/// names and layouts are those of Hugging Face's LlamaForCausalLM.
///
/// Weights start as normal(0, 0.02), projections onto the residual stream with 0.02 / sqrt(2 blocks), norms 1.
template <llama_size Size>
struct llama : sized_chain<llama_embedding<Size>, repeat<Size.blocks, llama_block<Size>>, llama_head<Size>> {
  static constexpr llama_size size = Size;
  static constexpr int vocabulary = Size.vocabulary;
  static constexpr int positions = Size.positions;
  static constexpr bool has_dropout = false;

  static std::string name() {
    return "llama(vocabulary " + std::to_string(Size.vocabulary) + ", positions " + std::to_string(Size.positions) +
           ", width " + std::to_string(Size.width) + ", heads " + std::to_string(Size.heads) + ", kv heads " +
           std::to_string(Size.kv_heads) + ", hidden " + std::to_string(Size.hidden) + ", blocks " +
           std::to_string(Size.blocks) + ", theta " + std::to_string(Size.theta) + ", epsilon 1e-" +
           std::to_string(Size.epsilon_digits) + ")";
  }
};

static_assert(llama<llama_160m>::parameter_count() == 162417408, "the count that JackFram/llama-160m has");

}  // namespace weft::inline v1::model
