// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/block.hpp>
#include <weft/model/chain.hpp>
#include <weft/model/embedding.hpp>
#include <weft/model/gpt_size.hpp>
#include <weft/model/head.hpp>
#include <weft/model/repeat.hpp>
#include <weft/model/token_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::inline v1::model {

/// GPT-2 (Radford et al. 2019): learned positions, pre-LayerNorm blocks, GELU (tanh), tied embedding and head. Layers
/// for the partition: embedding, one per block, head. Parameter names are those of Hugging Face's GPT2LMHeadModel.
///
/// Weights start as normal(0, 0.02), wpe too, projections onto the residual stream with 0.02 / sqrt(2 blocks), biases
/// 0, norms 1.
template <gpt_size Size>
struct gpt2 : chain<embedding<Size>, repeat<Size.blocks, block<Size>>, head<Size>> {
  static constexpr gpt_size size = Size;
  static constexpr int vocabulary = Size.vocabulary;
  static constexpr int positions = Size.positions;

  static std::string name() {
    return "gpt2(vocabulary " + std::to_string(Size.vocabulary) + ", positions " + std::to_string(Size.positions) +
           ", width " + std::to_string(Size.width) + ", heads " + std::to_string(Size.heads) + ", blocks " +
           std::to_string(Size.blocks) + ")";
  }

  /// Floating-point operations of one forward of one layer; backward takes twice as many.
  static constexpr std::int64_t flops(int layer, extents largest) {
    return gpt2::visit(layer, [&](auto tag, int) { return decltype(tag)::type::flops(largest); });
  }
  static constexpr std::int64_t parameter_count(int layer) {
    return gpt2::visit(layer, [](auto tag, int) { return decltype(tag)::type::parameter_count(); });
  }
  /// Parameters that a layer uses and another one owns; it has its own copy and accumulator of them.
  static constexpr std::int64_t tied_parameter_count(int layer) {
    return layer + 1 == gpt2::layer_count ? std::int64_t{Size.vocabulary} * Size.width : 0;
  }
  static constexpr std::int64_t parameter_count() {
    std::int64_t sum = 0;
    for (int layer = 0; layer < gpt2::layer_count; ++layer) sum += parameter_count(layer);
    return sum;
  }
  /// What one activation slot holds for a layer: tensors kept for backward and the layer's output.
  template <class Real = float>
  static constexpr std::int64_t activation_bytes(int layer, extents largest) {
    return gpt2::visit(layer, [&](auto tag, int) {
      using layer_type = typename decltype(tag)::type;
      return static_cast<std::int64_t>(layer_type::template saved_bytes<Real>(largest) +
                                       rounded<Real>(layer_type::output_elements(largest)));
    });
  }
  /// What one weight-context slot holds for a layer: its tensors kept for W and the gradient of its input.
  template <class Real = float>
  static constexpr std::int64_t weight_context_bytes(int layer, extents largest) {
    return gpt2::visit(layer, [&](auto tag, int) {
      using layer_type = typename decltype(tag)::type;
      return static_cast<std::int64_t>(
          layer_type::template weight_context_bytes<Real>(largest) +
          (layer_type::is_first ? std::size_t{0} : rounded<Real>(boundary_elements(largest))));
    });
  }
  /// Scratch memory of a layer; a rank has one workspace, as large as its most demanding layer asks.
  template <class Real = float>
  static constexpr std::int64_t workspace_bytes(int layer, extents largest) {
    return gpt2::visit(layer, [&](auto tag, int) {
      return static_cast<std::int64_t>(decltype(tag)::type::template workspace_bytes<Real>(largest));
    });
  }
  /// Elements that cross a boundary between two layers: [sequences][length][width].
  static constexpr std::int64_t boundary_elements(extents largest) { return largest.tokens() * Size.width; }

 private:
  template <class Real>
  static constexpr std::size_t rounded(std::int64_t elements) {
    arena counting;
    static_cast<void>(counting.take<Real>(elements));
    return counting.used();
  }
};

static_assert(gpt2<gpt2_124m>::parameter_count() == 124439808, "the count that OpenAI's release has");

}  // namespace weft::inline v1::model
