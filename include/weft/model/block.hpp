// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/causal_attention.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/gpt_size.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/layer_norm.hpp>
#include <weft/model/linear.hpp>
#include <weft/model/mlp.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::inline v1::model {

/// What a block keeps from F for backward: 9 width + 2 heads-ish numbers a token. `middle` is the residual stream
/// between attention and MLP; normalised rows and GELU outputs are made again instead.
template <class Real>
struct block_saved {
  execution::wide<Real>* mean_1;
  execution::wide<Real>* rstd_1;
  Real* qkv;                      ///< [tokens][3 width]
  execution::wide<Real>* logsum;  ///< [sequences][heads][length]
  Real* mixed;                    ///< attention's output [tokens][width]
  Real* middle;                   ///< [tokens][width]
  execution::wide<Real>* mean_2;
  execution::wide<Real>* rstd_2;
  Real* hidden;  ///< before GELU [tokens][4 width]

  constexpr block_saved(arena& memory, extents size, int width, int heads)
      : mean_1(memory.take<execution::wide<Real>>(size.tokens())),
        rstd_1(memory.take<execution::wide<Real>>(size.tokens())),
        qkv(memory.take<Real>(3 * size.tokens() * width)),
        logsum(memory.take<execution::wide<Real>>(size.tokens() * heads)),
        mixed(memory.take<Real>(size.tokens() * width)),
        middle(memory.take<Real>(size.tokens() * width)),
        mean_2(memory.take<execution::wide<Real>>(size.tokens())),
        rstd_2(memory.take<execution::wide<Real>>(size.tokens())),
        hidden(memory.take<Real>(4 * size.tokens() * width)) {}
};

/// What I keeps for W: the gradients that dW multiplies with and the inputs that F did not keep, 16 width a token.
template <class Real>
struct block_kept {
  Real* grad_hidden;  ///< [tokens][4 width]
  Real* activated;    ///< gelu(hidden) [tokens][4 width]
  Real* normed_2;
  Real* grad_normed_2;
  Real* grad_middle;
  Real* grad_qkv;  ///< [tokens][3 width]
  Real* normed_1;
  Real* grad_normed_1;

  constexpr block_kept(arena& memory, extents size, int width)
      : grad_hidden(memory.take<Real>(4 * size.tokens() * width)),
        activated(memory.take<Real>(4 * size.tokens() * width)),
        normed_2(memory.take<Real>(size.tokens() * width)),
        grad_normed_2(memory.take<Real>(size.tokens() * width)),
        grad_middle(memory.take<Real>(size.tokens() * width)),
        grad_qkv(memory.take<Real>(3 * size.tokens() * width)),
        normed_1(memory.take<Real>(size.tokens() * width)),
        grad_normed_1(memory.take<Real>(size.tokens() * width)) {}
};

/// One transformer block with the norms before the branches (pre-LayerNorm), as in GPT-2:
///   middle = in + dropout(attention(norm(in)) Wo + bo);  out = middle + dropout(mlp(norm(middle))).
template <gpt_size Size>
struct block {
  static_assert(Size.heads > 0 && Size.width % Size.heads == 0,
                "weft::block: the width is no multiple of the heads; choose heads that divide it");

  static constexpr bool is_first = false;
  static constexpr bool is_last = false;
  static constexpr attention_shape heads{Size.heads, Size.heads, Size.width / Size.heads};

  /// Parameters in this order; names as in Hugging Face's GPT-2 for block `index`.
  enum : int {
    norm_1,
    norm_1_bias,
    attention_weight,
    attention_bias,
    projection_weight,
    projection_bias,
    norm_2,
    norm_2_bias,
    mlp_weight
  };

  static std::vector<parameters::parameter_descriptor> describe(int index) {
    std::string const at = "transformer.h." + std::to_string(index) + ".";
    std::int64_t const width = Size.width;
    double const residual = 0.02 / std::sqrt(2.0 * Size.blocks);
    return {vector(at + "ln_1.weight", width, parameters::initializer::ones),
            vector(at + "ln_1.bias", width),
            table(at + "attn.c_attn.weight", width, 3 * width, 0.02),
            vector(at + "attn.c_attn.bias", 3 * width),
            table(at + "attn.c_proj.weight", width, width, residual),
            vector(at + "attn.c_proj.bias", width),
            vector(at + "ln_2.weight", width, parameters::initializer::ones),
            vector(at + "ln_2.bias", width),
            table(at + "mlp.c_fc.weight", width, 4 * width, 0.02),
            vector(at + "mlp.c_fc.bias", 4 * width),
            table(at + "mlp.c_proj.weight", 4 * width, width, residual),
            vector(at + "mlp.c_proj.bias", width)};
  }

  static constexpr std::int64_t parameter_count() {
    std::int64_t const width = Size.width;
    return 12 * width * width + 13 * width;
  }
  /// Products alone; attention counted for the causal half.
  static constexpr std::int64_t flops(extents size) {
    std::int64_t const width = Size.width;
    return 8 * size.tokens() * width * width + 2 * size.tokens() * (size.sequence_length + 1) * width +
           mlp::flops(size, width);
  }
  static constexpr std::int64_t output_elements(extents size) { return size.tokens() * Size.width; }
  template <class Real>
  static constexpr std::size_t saved_bytes(extents size) {
    return bytes_of<block_saved<Real>>(size, Size.width, Size.heads);
  }
  template <class Real>
  static constexpr std::size_t weight_context_bytes(extents size) {
    return bytes_of<block_kept<Real>>(size, Size.width);
  }
  /// The largest user is the MLP's forward (7 width a token, with dropout) or attention's backward (2 width and
  /// scores).
  template <class Real, class Space = Kokkos::DefaultHostExecutionSpace>
  static constexpr std::size_t workspace_bytes(extents size) {
    std::int64_t const rows = size.tokens() * Size.width;
    return static_cast<std::size_t>(7 * rows) * sizeof(Real) +
           causal_attention<heads>::template workspace_bytes<Real, Space>(size) + 8 * arena::alignment;
  }

  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* in, Real* out, std::byte* saved) {
    arena memory(saved);
    block_saved<Real> const kept(memory, context.size, Size.width, Size.heads);
    layer_context<Real, Space> inner = context;
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    Real* const normed = inner.workspace.template take<Real>(rows * Size.width);
    layer_norm::forward(inner, rows, Size.width, in, value[norm_1], value[norm_1_bias], normed, kept.mean_1,
                        kept.rstd_1);
    linear::forward(inner, rows, Size.width, 3 * Size.width, normed, value[attention_weight], value[attention_bias],
                    kept.qkv);
    causal_attention<heads>::forward(inner, kept.qkv, kept.mixed, kept.logsum, 0);
    if (context.dropout.rate > 0.0) {
      arena scratch = inner.workspace;
      Real* const branch = scratch.take<Real>(rows * Size.width);
      linear::forward(inner, rows, Size.width, Size.width, kept.mixed, value[projection_weight], value[projection_bias],
                      branch);
      dropout::apply<Real, Space>(inner, 1, Size.width, branch, in, kept.middle);
    } else {
      linear::forward_residual(inner, rows, Size.width, Size.width, kept.mixed, value[projection_weight],
                               value[projection_bias], in, kept.middle);
    }
    layer_norm::forward(inner, rows, Size.width, kept.middle, value[norm_2], value[norm_2_bias], normed, kept.mean_2,
                        kept.rstd_2);
    mlp::forward(inner, Size.width, mlp_weight, 2, normed, kept.middle, kept.hidden, out);
  }

  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, Real const* in, Real const* grad_out,
                             Real* grad_in, std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    block_saved<Real> const from(saved_memory, context.size, Size.width, Size.heads);
    arena kept_memory(kept);
    block_kept<Real> const to(kept_memory, context.size, Size.width);
    layer_context<Real, Space> inner = context;
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    mlp::backward_input(inner, Size.width, mlp_weight, 2, from.hidden, grad_out, to.grad_normed_2, to.grad_hidden,
                        to.activated);
    layer_norm::backward_input(inner, rows, Size.width, from.middle, value[norm_2], value[norm_2_bias], from.mean_2,
                               from.rstd_2, to.grad_normed_2, grad_out, to.grad_middle, to.normed_2);
    Real* const grad_mixed = inner.workspace.template take<Real>(rows * Size.width);
    {
      arena scratch = inner.workspace;
      Real const* const branch = dropout::backward(inner, 1, Size.width, to.grad_middle, scratch);
      linear::backward_input(inner, rows, Size.width, Size.width, branch, value[projection_weight], grad_mixed);
    }
    causal_attention<heads>::backward(inner, from.qkv, from.mixed, from.logsum, grad_mixed, to.grad_qkv, 0);
    linear::backward_input(inner, rows, Size.width, 3 * Size.width, to.grad_qkv, value[attention_weight],
                           to.grad_normed_1);
    layer_norm::backward_input(inner, rows, Size.width, in, value[norm_1], value[norm_1_bias], from.mean_1, from.rstd_1,
                               to.grad_normed_1, to.grad_middle, grad_in, to.normed_1);
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, Real const* in, Real const* grad_out,
                              std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    block_saved<Real> const from(saved_memory, context.size, Size.width, Size.heads);
    arena kept_memory(kept);
    block_kept<Real> const with(kept_memory, context.size, Size.width);
    std::int64_t const rows = context.tokens();
    auto const& gradient = context.parameters.gradient;
    mlp::backward_weight(context, Size.width, mlp_weight, 2, with.normed_2, grad_out, with.grad_hidden, with.activated);
    layer_norm::backward_weight(context, rows, Size.width, from.middle, from.mean_2, from.rstd_2, with.grad_normed_2,
                                gradient[norm_2], gradient[norm_2_bias]);
    arena scratch = context.workspace;
    Real const* const branch = dropout::backward(context, 1, Size.width, with.grad_middle, scratch);
    linear::backward_weight(context, rows, Size.width, Size.width, from.mixed, branch, gradient[projection_weight],
                            gradient[projection_bias]);
    linear::backward_weight(context, rows, Size.width, 3 * Size.width, with.normed_1, with.grad_qkv,
                            gradient[attention_weight], gradient[attention_bias]);
    layer_norm::backward_weight(context, rows, Size.width, in, from.mean_1, from.rstd_1, with.grad_normed_1,
                                gradient[norm_1], gradient[norm_1_bias]);
  }

 private:
  static parameters::parameter_descriptor vector(std::string name, std::int64_t elements,
                                                 parameters::initializer init = parameters::initializer::zeros) {
    return {.name = std::move(name), .extents = {elements, 1, 1, 1}, .dimensions = 1, .init = init, .decay = false};
  }
  static parameters::parameter_descriptor table(std::string name, std::int64_t inputs, std::int64_t outputs,
                                                double deviation) {
    return {.name = std::move(name),
            .extents = {inputs, outputs, 1, 1},
            .dimensions = 2,
            .init = parameters::initializer::normal,
            .standard_deviation = deviation};
  }
};

}  // namespace weft::inline v1::model
