// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/causal_attention.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/llama_size.hpp>
#include <weft/model/projection.hpp>
#include <weft/model/rms_norm.hpp>
#include <weft/model/rotary.hpp>
#include <weft/model/swiglu.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::model {

/// What a block keeps from F for backward. Queries and keys are kept turned; normalised rows and the MLP's products
/// are made again instead.
template <class Real>
struct llama_block_saved {
  execution::wide<Real>* rstd_1;
  execution::wide<Real>* turns;   ///< cosines and sines [length][head width]
  Real* qkv;                      ///< [tokens][width + 2 kv width]
  execution::wide<Real>* logsum;  ///< [sequences][heads][length]
  Real* mixed;                    ///< attention's output [tokens][width]
  Real* middle;                   ///< residual stream between attention and MLP [tokens][width]
  execution::wide<Real>* rstd_2;
  Real* gate;  ///< [tokens][hidden]
  Real* up;    ///< [tokens][hidden]

  constexpr llama_block_saved(arena& memory, extents size, llama_size const& of)
      : rstd_1(memory.take<execution::wide<Real>>(size.tokens())),
        turns(memory.take<execution::wide<Real>>(rotary::turns_elements(size, of.head_width()))),
        qkv(memory.take<Real>(size.tokens() * (of.width + 2 * of.kv_width()))),
        logsum(memory.take<execution::wide<Real>>(size.tokens() * of.heads)),
        mixed(memory.take<Real>(size.tokens() * of.width)),
        middle(memory.take<Real>(size.tokens() * of.width)),
        rstd_2(memory.take<execution::wide<Real>>(size.tokens())),
        gate(memory.take<Real>(size.tokens() * of.hidden)),
        up(memory.take<Real>(size.tokens() * of.hidden)) {}
};

/// What I keeps for W: the gradients that dW multiplies with and the inputs that F did not keep.
template <class Real>
struct llama_block_kept {
  Real* grad_gate;  ///< [tokens][hidden]
  Real* grad_up;    ///< [tokens][hidden]
  Real* activated;  ///< silu(gate) up [tokens][hidden]
  Real* normed_2;
  Real* grad_normed_2;
  Real* grad_middle;
  Real* grad_qkv;  ///< [tokens][width + 2 kv width], before the turn
  Real* normed_1;
  Real* grad_normed_1;

  constexpr llama_block_kept(arena& memory, extents size, llama_size const& of)
      : grad_gate(memory.take<Real>(size.tokens() * of.hidden)),
        grad_up(memory.take<Real>(size.tokens() * of.hidden)),
        activated(memory.take<Real>(size.tokens() * of.hidden)),
        normed_2(memory.take<Real>(size.tokens() * of.width)),
        grad_normed_2(memory.take<Real>(size.tokens() * of.width)),
        grad_middle(memory.take<Real>(size.tokens() * of.width)),
        grad_qkv(memory.take<Real>(size.tokens() * (of.width + 2 * of.kv_width()))),
        normed_1(memory.take<Real>(size.tokens() * of.width)),
        grad_normed_1(memory.take<Real>(size.tokens() * of.width)) {}
};

/// One block of a Llama (Touvron et al. 2023), without biases and without dropout:
///   middle = in + attention(turned q, turned k, v of norm(in)) Wo^T;  out = middle + swiglu(norm(middle)).
template <llama_size Size>
struct llama_block {
  static_assert(Size.heads > 0 && Size.width % Size.heads == 0,
                "weft::llama: the width is no multiple of the heads; choose heads that divide it");
  static_assert(Size.kv_heads > 0 && Size.heads % Size.kv_heads == 0,
                "weft::llama: the query heads cannot share the key and value heads evenly; choose kv_heads that divide "
                "heads");
  static_assert(Size.heads <= 0 || Size.width / Size.heads % 2 == 0,
                "weft::llama: the head width is odd, and rotary positions turn pairs of numbers; choose heads such "
                "that width / heads is even");

  static constexpr bool is_first = false;
  static constexpr bool is_last = false;
  static constexpr attention_shape heads{Size.heads, Size.kv_heads, Size.width / Size.heads};

  /// Parameters in this order; names as in Hugging Face's LlamaForCausalLM for block `index`.
  enum : int {
    norm_1,
    query_weight,
    key_weight,
    value_weight,
    output_weight,
    norm_2,
    gate_weight,
    up_weight,
    down_weight
  };

  static std::vector<parameters::parameter_descriptor> describe(int index) {
    std::string const at = "model.layers." + std::to_string(index) + ".";
    double const residual = 0.02 / std::sqrt(2.0 * Size.blocks);
    return {vector(at + "input_layernorm.weight"),
            table(at + "self_attn.q_proj.weight", Size.width, Size.width, 0.02),
            table(at + "self_attn.k_proj.weight", Size.kv_width(), Size.width, 0.02),
            table(at + "self_attn.v_proj.weight", Size.kv_width(), Size.width, 0.02),
            table(at + "self_attn.o_proj.weight", Size.width, Size.width, residual),
            vector(at + "post_attention_layernorm.weight"),
            table(at + "mlp.gate_proj.weight", Size.hidden, Size.width, 0.02),
            table(at + "mlp.up_proj.weight", Size.hidden, Size.width, 0.02),
            table(at + "mlp.down_proj.weight", Size.width, Size.hidden, residual)};
  }

  static constexpr std::int64_t parameter_count() {
    std::int64_t const width = Size.width;
    return 2 * width * width + 2 * width * Size.kv_width() + 3 * width * Size.hidden + 2 * width;
  }
  /// Products alone; attention counted for the causal half.
  static constexpr std::int64_t flops(extents size) {
    std::int64_t const width = Size.width;
    return 4 * size.tokens() * width * (width + Size.kv_width()) +
           2 * size.tokens() * (size.sequence_length + 1) * width + swiglu::flops(size, width, Size.hidden);
  }
  static constexpr std::int64_t output_elements(extents size) { return size.tokens() * Size.width; }
  template <class Real>
  static constexpr std::size_t saved_bytes(extents size) {
    return bytes_of<llama_block_saved<Real>>(size, Size);
  }
  template <class Real>
  static constexpr std::size_t weight_context_bytes(extents size) {
    return bytes_of<llama_block_kept<Real>>(size, Size);
  }
  /// Normalised rows beside the MLP's forward, or the gradient of attention's output beside attention's backward.
  template <class Real, class Space = Kokkos::DefaultHostExecutionSpace>
  static constexpr std::size_t workspace_bytes(extents size) {
    std::size_t const mlp = static_cast<std::size_t>(size.tokens() * Size.hidden) * sizeof(Real);
    std::size_t const scores = causal_attention<heads>::template workspace_bytes<Real, Space>(size);
    return static_cast<std::size_t>(size.tokens() * Size.width) * sizeof(Real) + (mlp > scores ? mlp : scores) +
           4 * arena::alignment;
  }

  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* in, Real* out, std::byte* saved) {
    arena memory(saved);
    llama_block_saved<Real> const kept(memory, context.size, Size);
    layer_context<Real, Space> inner = context;
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    Real* const normed = inner.workspace.template take<Real>(rows * Size.width);
    rms_norm::forward(inner, rows, Size.width, Size.epsilon(), in, value[norm_1], normed, kept.rstd_1);
    Real* part = kept.qkv;
    for (int which = query_weight; which <= value_weight; ++which) {
      std::int64_t const outputs = which == query_weight ? Size.width : Size.kv_width();
      projection::forward(inner, rows, Size.width, outputs, normed, value[which], 0, part, heads.row());
      part += outputs;
    }
    rotary::make_turns(inner, heads.head_width, Size.theta, kept.turns);
    rotary::forward(inner, heads.row(), heads.heads + heads.kv_heads, heads.head_width, kept.turns, kept.qkv);
    causal_attention<heads>::forward(inner, kept.qkv, kept.mixed, kept.logsum, 0);
    projection::forward_residual(inner, rows, Size.width, Size.width, kept.mixed, value[output_weight], in,
                                 kept.middle);
    rms_norm::forward(inner, rows, Size.width, Size.epsilon(), kept.middle, value[norm_2], normed, kept.rstd_2);
    swiglu::forward(inner, Size.width, Size.hidden, gate_weight, normed, kept.middle, kept.gate, kept.up, out);
  }

  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, Real const* in, Real const* grad_out,
                             Real* grad_in, std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    llama_block_saved<Real> const from(saved_memory, context.size, Size);
    arena kept_memory(kept);
    llama_block_kept<Real> const to(kept_memory, context.size, Size);
    layer_context<Real, Space> inner = context;
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    swiglu::backward_input(inner, Size.width, Size.hidden, gate_weight, from.gate, from.up, grad_out, to.grad_normed_2,
                           to.grad_gate, to.grad_up, to.activated);
    rms_norm::backward_input(inner, rows, Size.width, from.middle, value[norm_2], from.rstd_2, to.grad_normed_2,
                             grad_out, to.grad_middle, to.normed_2);
    Real* const grad_mixed = inner.workspace.template take<Real>(rows * Size.width);
    projection::backward_input(inner, rows, Size.width, Size.width, to.grad_middle, Size.width, value[output_weight], 0,
                               grad_mixed);
    causal_attention<heads>::backward(inner, from.qkv, from.mixed, from.logsum, grad_mixed, to.grad_qkv, 0);
    rotary::backward(inner, heads.row(), heads.heads + heads.kv_heads, heads.head_width, from.turns, to.grad_qkv);
    Real const* part = to.grad_qkv;
    for (int which = query_weight; which <= value_weight; ++which) {
      std::int64_t const outputs = which == query_weight ? Size.width : Size.kv_width();
      projection::backward_input(inner, rows, Size.width, outputs, part, heads.row(), value[which],
                                 which == query_weight ? 0 : 1, to.grad_normed_1);
      part += outputs;
    }
    rms_norm::backward_input(inner, rows, Size.width, in, value[norm_1], from.rstd_1, to.grad_normed_1, to.grad_middle,
                             grad_in, to.normed_1);
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, Real const* in, Real const* grad_out,
                              std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    llama_block_saved<Real> const from(saved_memory, context.size, Size);
    arena kept_memory(kept);
    llama_block_kept<Real> const with(kept_memory, context.size, Size);
    std::int64_t const rows = context.tokens();
    auto const& gradient = context.parameters.gradient;
    swiglu::backward_weight(context, Size.width, Size.hidden, gate_weight, with.normed_2, grad_out, with.grad_gate,
                            with.grad_up, with.activated);
    rms_norm::backward_weight(context, rows, Size.width, from.middle, from.rstd_2, with.grad_normed_2,
                              gradient[norm_2]);
    projection::backward_weight(context, rows, Size.width, Size.width, from.mixed, with.grad_middle, Size.width,
                                gradient[output_weight]);
    Real const* part = with.grad_qkv;
    for (int which = query_weight; which <= value_weight; ++which) {
      std::int64_t const outputs = which == query_weight ? Size.width : Size.kv_width();
      projection::backward_weight(context, rows, Size.width, outputs, with.normed_1, part, heads.row(),
                                  gradient[which]);
      part += outputs;
    }
    rms_norm::backward_weight(context, rows, Size.width, in, from.rstd_1, with.grad_normed_1, gradient[norm_1]);
  }

 private:
  static parameters::parameter_descriptor vector(std::string name) {
    return {.name = std::move(name),
            .extents = {Size.width, 1, 1, 1},
            .init = parameters::initializer::ones,
            .decay = false};
  }
  static parameters::parameter_descriptor table(std::string name, std::int64_t outputs, std::int64_t inputs,
                                                double deviation) {
    return {.name = std::move(name),
            .extents = {outputs, inputs, 1, 1},
            .dimensions = 2,
            .init = parameters::initializer::normal,
            .standard_deviation = deviation};
  }
};

}  // namespace weft::inline v1::model
