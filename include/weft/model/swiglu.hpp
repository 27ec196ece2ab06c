// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/projection.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// out = silu(gate) up, where silu(a) = a / (1 + e^-a).
template <class Real>
struct gated_silu {
  static constexpr char const* label = "weft::gated_silu";
  Real const* gate;
  Real const* up;
  Real* out;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const g = gate + row * cut.columns;
    Real const* WEFT_RESTRICT const u = up + row * cut.columns;
    Real* WEFT_RESTRICT const to = out + row * cut.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) {
      execution::wide<Real> const open = execution::widen(g[c]);
      to[c] = static_cast<Real>(open * math::sigmoid(open) * execution::widen(u[c]));
    }
  }
};

/// again: silu(gate) up's gradient in, silu(gate) up out; grad_gate and grad_up the gradients of both.
template <class Real>
struct gated_silu_backward {
  static constexpr char const* label = "weft::gated_silu_backward";
  Real const* gate;
  Real const* up;
  Real* again;
  Real* grad_gate;
  Real* grad_up;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const g = gate + row * cut.columns;
    Real const* WEFT_RESTRICT const u = up + row * cut.columns;
    Real* WEFT_RESTRICT const d = again + row * cut.columns;
    Real* WEFT_RESTRICT const dg = grad_gate + row * cut.columns;
    Real* WEFT_RESTRICT const du = grad_up + row * cut.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) {
      execution::wide<Real> const x = execution::widen(g[c]);
      execution::wide<Real> const other = execution::widen(u[c]);
      execution::wide<Real> const grad = execution::widen(d[c]);
      execution::wide<Real> const open = math::sigmoid(x);
      execution::wide<Real> const value = x * open;
      execution::wide<Real> const slope = open + value * (1 - open);
      dg[c] = static_cast<Real>(grad * other * slope);
      du[c] = static_cast<Real>(grad * value);
      d[c] = static_cast<Real>(value * other);
    }
  }
};

}  // namespace kernels

/// out = residual + (silu(in Wg^T) * (in Wu^T)) Wd^T, a gated MLP (Shazeer 2020) without biases. Parameters, from
/// `first` on in the layer's list: Wg [hidden][width], Wu [hidden][width], Wd [width][hidden].
struct swiglu {
  /// gate and up, both [tokens][hidden], are kept for backward. Workspace: tokens * hidden.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t width, std::int64_t hidden, int first,
                      Real const* in, Real const* residual, Real* gate, Real* up, Real* out) {
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    arena workspace = context.workspace;
    Real* const activated = workspace.take<Real>(rows * hidden);
    projection::forward(context, rows, width, hidden, in, value[first], 0, gate, hidden);
    projection::forward(context, rows, width, hidden, in, value[first + 1], 0, up, hidden);
    auto const cut = execution::cut_row<Space>(hidden);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::gated_silu<Real>{gate, up, activated, cut});
    projection::forward_residual(context, rows, hidden, width, activated, value[first + 2], residual, out);
  }

  /// grad_in is the gradient of `in` alone; what flows past the branch is the caller's. Kept for dW: grad_gate, grad_up
  /// and activated, each [tokens][hidden].
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t width, std::int64_t hidden,
                             int first, Real const* gate, Real const* up, Real const* grad_out, Real* grad_in,
                             Real* grad_gate, Real* grad_up, Real* activated) {
    std::int64_t const rows = context.tokens();
    auto const& value = context.parameters.value;
    projection::backward_input(context, rows, hidden, width, grad_out, width, value[first + 2], 0, activated);
    auto const cut = execution::cut_row<Space>(hidden);
    execution::for_each(context.space(), rows * cut.pieces(),
                        kernels::gated_silu_backward<Real>{gate, up, activated, grad_gate, grad_up, cut});
    projection::backward_input(context, rows, width, hidden, grad_gate, hidden, value[first], 0, grad_in);
    projection::backward_input(context, rows, width, hidden, grad_up, hidden, value[first + 1], 1, grad_in);
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t width, std::int64_t hidden,
                              int first, Real const* in, Real const* grad_out, Real const* grad_gate,
                              Real const* grad_up, Real const* activated) {
    std::int64_t const rows = context.tokens();
    auto const& gradient = context.parameters.gradient;
    projection::backward_weight(context, rows, width, hidden, in, grad_gate, hidden, gradient[first]);
    projection::backward_weight(context, rows, width, hidden, in, grad_up, hidden, gradient[first + 1]);
    projection::backward_weight(context, rows, hidden, width, activated, grad_out, width, gradient[first + 2]);
  }

  /// Three products forward.
  static constexpr std::int64_t flops(extents size, std::int64_t width, std::int64_t hidden) {
    return 6 * size.tokens() * width * hidden;
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
