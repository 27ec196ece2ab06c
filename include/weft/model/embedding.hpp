// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/embedding_scatter.hpp>
#include <weft/model/gpt_size.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// out[token] = token_table[id] (+ position_table[position]).
template <class Real, bool HasPositions>
struct embed {
  static constexpr char const* label = HasPositions ? "weft::embedding_positions" : "weft::embedding";
  std::int32_t const* ids;
  Real const* token_table;
  Real const* position_table;
  Real* out;
  std::int64_t length;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const token = token_table + ids[row] * cut.columns;
    Real* WEFT_RESTRICT const to = out + row * cut.columns;
    if constexpr (HasPositions) {
      Real const* WEFT_RESTRICT const position =
          position_table + (row - execution::divide(row, length) * length) * cut.columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c)
        to[c] = static_cast<Real>(execution::widen(token[c]) + execution::widen(position[c]));
    } else {
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) to[c] = token[c];
    }
  }
};

}  // namespace kernels

/// Token table plus learned positions: the first layer. Parameters: wte [vocabulary][width] (tied with the head: use
/// site 0), wpe [positions][width].
template <gpt_size Size>
struct embedding {
  static constexpr bool is_first = true;
  static constexpr bool is_last = false;

  static std::vector<parameters::parameter_descriptor> describe(int /*index*/) {
    using parameters::initializer;
    return {{.name = "transformer.wte.weight",
             .extents = {Size.vocabulary, Size.width, 1, 1},
             .dimensions = 2,
             .init = initializer::normal,
             .standard_deviation = 0.02,
             .tie_group = 0,
             .use_site = 0},
            {.name = "transformer.wpe.weight",
             .extents = {Size.positions, Size.width, 1, 1},
             .dimensions = 2,
             .init = initializer::normal,
             .standard_deviation = 0.02}};
  }

  static constexpr std::int64_t parameter_count() {
    return (std::int64_t{Size.vocabulary} + Size.positions) * Size.width;
  }
  /// One addition per element of the output.
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
  static constexpr std::size_t workspace_bytes(extents size) {
    return static_cast<std::size_t>(size.tokens()) * Size.width * sizeof(Real) + arena::alignment;
  }

  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* /*in*/, Real* out, std::byte* /*saved*/) {
    auto const cut = execution::cut_row<Space>(Size.width);
    execution::for_each(
        context.space(), context.tokens() * cut.pieces(),
        kernels::embed<Real, true>{context.inputs, context.parameters.value[0], context.parameters.value[1], out,
                                   context.size.sequence_length, cut});
    if (context.dropout.rate > 0.0) dropout::apply<Real, Space>(context, 0, Size.width, out, nullptr, out);
  }

  /// Tokens have no gradient.
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const&, Real const*, Real const*, Real*, std::byte*,
                             std::byte*) {}

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, Real const* /*in*/, Real const* grad_out,
                              std::byte* /*saved*/, std::byte* /*kept*/) {
    arena workspace = context.workspace;
    Real const* const grad = dropout::backward(context, 0, Size.width, grad_out, workspace);
    auto const& gradient = context.parameters.gradient;
    embedding_scatter::tokens(context.space(), context.tokens(), Size.width, context.inputs, grad, gradient[0]);
    embedding_scatter::positions(context.space(), context.tokens(), Size.width, context.size.sequence_length, grad,
                                 gradient[1]);
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
