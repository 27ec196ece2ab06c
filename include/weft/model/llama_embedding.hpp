// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/model/embedding.hpp>
#include <weft/model/embedding_scatter.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/llama_size.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::inline v1::model {

/// Token table alone (positions turn queries and keys in the blocks): a Llama's first layer. Parameter:
/// model.embed_tokens.weight [vocabulary][width], not shared with the head.
template <llama_size Size>
struct llama_embedding {
  static constexpr bool is_first = true;
  static constexpr bool is_last = false;

  static std::vector<parameters::parameter_descriptor> describe(int /*index*/) {
    return {{.name = "model.embed_tokens.weight",
             .extents = {Size.vocabulary, Size.width, 1, 1},
             .dimensions = 2,
             .init = parameters::initializer::normal,
             .standard_deviation = 0.02}};
  }

  static constexpr std::int64_t parameter_count() { return std::int64_t{Size.vocabulary} * Size.width; }
  /// One copy per element of the output.
  static constexpr std::int64_t flops(extents size) { return size.tokens() * Size.width; }
  static constexpr std::int64_t output_elements(extents size) { return size.tokens() * Size.width; }
  template <class Real>
  static constexpr std::size_t saved_bytes(extents) {
    return 0;
  }
  template <class Real>
  static constexpr std::size_t weight_context_bytes(extents) {
    return 0;
  }
  template <class Real>
  static constexpr std::size_t workspace_bytes(extents) {
    return 0;
  }

  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* /*in*/, Real* out, std::byte* /*saved*/) {
    auto const cut = execution::cut_row<Space>(Size.width);
    execution::for_each(context.space(), context.tokens() * cut.pieces(),
                        kernels::embed<Real, false>{context.inputs, context.parameters.value[0], nullptr, out,
                                                    context.size.sequence_length, cut});
  }

  /// Tokens have no gradient.
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const&, Real const*, Real const*, Real*, std::byte*,
                             std::byte*) {}

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, Real const* /*in*/, Real const* grad_out,
                              std::byte* /*saved*/, std::byte* /*kept*/) {
    embedding_scatter::tokens(context.space(), context.tokens(), Size.width, context.inputs, grad_out,
                              context.parameters.gradient[0]);
  }
};

}  // namespace weft::inline v1::model
