// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/cross_entropy.hpp>
#include <weft/model/head.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/llama_size.hpp>
#include <weft/model/projection.hpp>
#include <weft/model/rms_norm.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::inline v1::model {

/// `logits` [tokens][vocabulary]; I turns them into their gradient, in place.
template <class Real>
struct llama_head_saved {
  execution::wide<Real>* rstd;
  execution::wide<Real>* logsum;
  Real* logits;

  constexpr llama_head_saved(arena& memory, extents size, int vocabulary)
      : rstd(memory.take<execution::wide<Real>>(size.tokens())),
        logsum(memory.take<execution::wide<Real>>(size.tokens())),
        logits(memory.take<Real>(size.tokens() * vocabulary)) {}
};

/// A Llama's last layer: final norm, a projection of its own onto the vocabulary, softmax cross-entropy. Its backward
/// needs no incoming gradient. Parameters: model.norm.weight [width], lm_head.weight [vocabulary][width].
template <llama_size Size>
struct llama_head {
  static constexpr bool is_first = false;
  static constexpr bool is_last = true;
  static constexpr int vocabulary = Size.vocabulary;

  static std::vector<parameters::parameter_descriptor> describe(int /*index*/) {
    using parameters::initializer;
    return {{.name = "model.norm.weight", .extents = {Size.width, 1, 1, 1}, .init = initializer::ones, .decay = false},
            {.name = "lm_head.weight",
             .extents = {Size.vocabulary, Size.width, 1, 1},
             .dimensions = 2,
             .init = initializer::normal,
             .standard_deviation = 0.02}};
  }

  static constexpr std::int64_t parameter_count() { return (std::int64_t{Size.vocabulary} + 1) * Size.width; }
  static constexpr std::int64_t flops(extents size) {
    return 2 * size.tokens() * Size.width * std::int64_t{Size.vocabulary};
  }
  static constexpr std::int64_t output_elements(extents) { return 0; }
  template <class Real>
  static constexpr std::size_t saved_bytes(extents size) {
    return bytes_of<llama_head_saved<Real>>(size, Size.vocabulary);
  }
  template <class Real>
  static constexpr std::size_t weight_context_bytes(extents size) {
    return bytes_of<head_kept<Real>>(size, Size.width);
  }
  template <class Real>
  static constexpr std::size_t workspace_bytes(extents size) {
    return static_cast<std::size_t>(size.tokens()) * Size.width * sizeof(Real) +
           static_cast<std::size_t>(cross_entropy::workspace_elements(size.tokens())) * sizeof(double) +
           4 * arena::alignment;
  }

  /// Where the logits of the last F of this slot lie, for text generation.
  template <class Real>
  static Real const* logits(std::byte* saved, extents size) {
    arena memory(saved);
    return llama_head_saved<Real>(memory, size, Size.vocabulary).logits;
  }

  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* in, Real* /*out*/, std::byte* saved) {
    arena memory(saved);
    llama_head_saved<Real> const kept(memory, context.size, Size.vocabulary);
    layer_context<Real, Space> inner = context;
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    Real* const normed = inner.workspace.template take<Real>(rows * Size.width);
    rms_norm::forward(inner, rows, Size.width, Size.epsilon(), in, value[0], normed, kept.rstd);
    projection::forward(inner, rows, Size.width, Size.vocabulary, normed, value[1], 0, kept.logits, Size.vocabulary);
    cross_entropy::forward(inner, rows, Size.vocabulary, kept.logits, kept.logsum);
  }

  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, Real const* in, Real const* /*grad_out*/,
                             Real* grad_in, std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    llama_head_saved<Real> const from(saved_memory, context.size, Size.vocabulary);
    arena kept_memory(kept);
    head_kept<Real> const to(kept_memory, context.size, Size.width);
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    cross_entropy::backward(context, rows, Size.vocabulary, from.logits, from.logsum);
    projection::backward_input(context, rows, Size.width, Size.vocabulary, from.logits, Size.vocabulary, value[1], 0,
                               to.grad_normed);
    rms_norm::backward_input<Real, Space>(context, rows, Size.width, in, value[0], from.rstd, to.grad_normed, nullptr,
                                          grad_in, to.normed);
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, Real const* in, Real const* /*grad_out*/,
                              std::byte* saved, std::byte* kept) {
    arena saved_memory(saved);
    llama_head_saved<Real> const from(saved_memory, context.size, Size.vocabulary);
    arena kept_memory(kept);
    head_kept<Real> const with(kept_memory, context.size, Size.width);
    std::int64_t const rows = context.tokens();
    auto const& gradient = context.parameters.gradient;
    projection::backward_weight(context, rows, Size.width, Size.vocabulary, with.normed, from.logits, Size.vocabulary,
                                gradient[1]);
    rms_norm::backward_weight(context, rows, Size.width, in, from.rstd, with.grad_normed, gradient[0]);
  }
};

}  // namespace weft::inline v1::model
