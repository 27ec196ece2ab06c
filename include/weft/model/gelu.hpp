// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// GELU in its tanh form, 0.5 a (1 + tanh u) with u = sqrt(2 / pi) (a + 0.044715 a^3), written as a / (1 + e^-2u): the
/// same function with one exponential, and without cancellation for negative a.
template <class Real>
struct gelu_value {
  Real value;
  Real slope;

  KOKKOS_FORCEINLINE_FUNCTION explicit gelu_value(Real a) {
    constexpr Real twice_root = Real(1.5957691216057308);
    constexpr Real cubic = Real(0.044715);
    Real const square = a * a;
    Real const gate = math::sigmoid(twice_root * a * (Real(1) + cubic * square));
    value = a * gate;
    slope = gate + value * (Real(1) - gate) * (twice_root * (Real(1) + Real(3) * cubic * square));
  }
};

/// hidden += bias; out = gelu(hidden).
template <class Real>
struct bias_gelu {
  static constexpr char const* label = "weft::bias_gelu";
  Real const* bias;
  Real* hidden;
  Real* out;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const add = bias;
    Real* WEFT_RESTRICT const a = hidden + row * cut.columns;
    Real* WEFT_RESTRICT const g = out + row * cut.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) {
      Real const biased = static_cast<Real>(execution::widen(a[c]) + execution::widen(add[c]));
      a[c] = biased;
      g[c] = static_cast<Real>(gelu_value<execution::wide<Real>>(execution::widen(biased)).value);
    }
  }
};

/// grad *= gelu'(hidden), in place; again = gelu(hidden).
template <class Real>
struct gelu_backward {
  static constexpr char const* label = "weft::gelu_backward";
  Real const* hidden;
  Real* grad;
  Real* again;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const a = hidden + row * cut.columns;
    Real* WEFT_RESTRICT const d = grad + row * cut.columns;
    Real* WEFT_RESTRICT const g = again + row * cut.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) {
      gelu_value<execution::wide<Real>> const at(execution::widen(a[c]));
      d[c] = static_cast<Real>(execution::widen(d[c]) * at.slope);
      g[c] = static_cast<Real>(at.value);
    }
  }
};

}  // namespace kernels

/// GELU (tanh form) fused with the bias of the layer before it.
struct gelu {
  /// hidden [rows][columns] gets its bias added and is kept; out = gelu(hidden).
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                      Real const* bias, Real* hidden, Real* out) {
    auto const cut = execution::cut_row<Space>(columns);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::bias_gelu<Real>{bias, hidden, out, cut});
  }

  /// grad becomes the gradient of hidden; `again` receives the forward output, which dW of the next layer needs.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                       Real const* hidden, Real* grad, Real* again) {
    auto const cut = execution::cut_row<Space>(columns);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::gelu_backward<Real>{hidden, grad, again, cut});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
