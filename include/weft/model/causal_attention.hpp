// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/attention.hpp>
#include <weft/model/attention_shape.hpp>
#include <weft/model/fused_attention.hpp>
#include <weft/model/layer_context.hpp>

#include <cstddef>

namespace weft::inline v1::model {

/// Which of two ways attention goes on Space: fused on devices, where tiles of products would be hundreds of small
/// launches; as products of a BLAS on hosts, whose products are several times as quick as loops. A program may
/// specialise it for a space, before the first model that it trains there.
template <class Space>
inline constexpr bool fuses_attention = !execution::is_host_space<Space>;

/// Causal attention of one shape, qkv [tokens][Shape.row()] -> mixed [tokens][Shape.width()]: `fused_attention` where
/// Space fuses it and heads fit, else `attention`.
template <attention_shape Shape>
struct causal_attention {
  using fused = fused_attention<Shape.head_width>;
  template <class Real, class Space>
  static constexpr bool is_fused = fuses_attention<Space>&& fused::template fits<Real>;

  /// Of backward, the larger user. Fused: a number a head and token; else tiles of scores, as long as a sequence.
  template <class Real, class Space>
  static constexpr std::size_t workspace_bytes(extents size) {
    if constexpr (is_fused<Real, Space>) {
      return static_cast<std::size_t>(fused::workspace_elements(size, Shape.heads)) * sizeof(execution::wide<Real>) +
             arena::alignment;
    } else {
      return attention::workspace_bytes<Real>(size, Shape);
    }
  }

  /// logsum: [sequences][heads][length], kept for backward, as mixed is.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, Real const* qkv, Real* mixed,
                      execution::wide<Real>* logsum, int dropout_site) {
    if constexpr (is_fused<Real, Space>) {
      fused::forward(context, Shape, qkv, mixed, logsum, dropout_site);
    } else {
      attention::forward(context, Shape, qkv, mixed, logsum, dropout_site);
    }
  }

  /// grad_qkv [tokens][Shape.row()] from grad_mixed [tokens][Shape.width()].
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, Real const* qkv, Real const* mixed,
                       execution::wide<Real> const* logsum, Real const* grad_mixed, Real* grad_qkv, int dropout_site) {
    if constexpr (is_fused<Real, Space>) {
      fused::backward(context, Shape, qkv, mixed, logsum, grad_mixed, grad_qkv, dropout_site);
    } else {
      attention::backward(context, Shape, qkv, logsum, grad_mixed, grad_qkv, dropout_site);
    }
  }
};

}  // namespace weft::inline v1::model
