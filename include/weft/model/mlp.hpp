// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/gelu.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/linear.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// out = residual + dropout(W2 gelu(W1 in + b1) + b2), hidden width four times the width. Parameters, from `first` on
/// in the layer's list: W1, b1, W2, b2.
struct mlp {
  static constexpr std::int64_t ratio = 4;

  /// `hidden` [tokens][4 width] is kept for backward.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t width, int first, int dropout_site,
                      Real const* in, Real const* residual, Real* hidden, Real* out) {
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    arena workspace = context.workspace;
    Real* const activated = workspace.take<Real>(rows * ratio * width);
    linear::multiply(context, rows, width, ratio * width, in, value[first], 0, hidden);
    gelu::forward(context, rows, ratio * width, value[first + 1], hidden, activated);
    if (context.dropout.rate > 0.0) {
      Real* const branch = workspace.take<Real>(rows * width);
      linear::forward(context, rows, ratio * width, width, activated, value[first + 2], value[first + 3], branch);
      dropout::apply<Real, Space>(context, dropout_site, width, branch, residual, out);
    } else {
      linear::forward_residual(context, rows, ratio * width, width, activated, value[first + 2], value[first + 3],
                               residual, out);
    }
  }

  /// grad_in is the gradient of `in` alone; what flows past the branch is the caller's. Kept for dW: grad_hidden and
  /// activated, both [tokens][4 width].
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t width, int first, int dropout_site,
                             Real const* hidden, Real const* grad_out, Real* grad_in, Real* grad_hidden,
                             Real* activated) {
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    arena workspace = context.workspace;
    Real const* const branch = dropout::backward(context, dropout_site, width, grad_out, workspace);
    linear::backward_input(context, rows, ratio * width, width, branch, value[first + 2], grad_hidden);
    gelu::backward(context, rows, ratio * width, hidden, grad_hidden, activated);
    linear::backward_input(context, rows, width, ratio * width, grad_hidden, value[first], grad_in);
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t width, int first,
                              int dropout_site, Real const* in, Real const* grad_out, Real const* grad_hidden,
                              Real const* activated) {
    std::int64_t const rows = context.tokens();
    auto const& gradient = context.parameters.gradient;
    arena workspace = context.workspace;
    Real const* const branch = dropout::backward(context, dropout_site, width, grad_out, workspace);
    linear::backward_weight(context, rows, ratio * width, width, activated, branch, gradient[first + 2],
                            gradient[first + 3]);
    linear::backward_weight(context, rows, width, ratio * width, in, grad_hidden, gradient[first], gradient[first + 1]);
  }

  /// Two products forward.
  static constexpr std::int64_t flops(extents size, std::int64_t width) {
    return 4 * size.tokens() * width * ratio * width;
  }
};

}  // namespace weft::inline v1::model
