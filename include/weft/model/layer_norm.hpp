// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/column_team.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/execution/row_team.hpp>
#include <weft/model/lanes.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

template <class Real>
struct centred_square {
  Real const* row;
  execution::wide<Real> middle;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return (execution::widen(row[c]) - middle) * (execution::widen(row[c]) - middle);
  }
};

/// dy w xhat.
template <class Real>
struct along_term {
  Real const* grad;
  Real const* weight;
  Real const* row;
  execution::wide<Real> middle;
  execution::wide<Real> scale;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return execution::widen(grad[c]) * execution::widen(weight[c]) * ((execution::widen(row[c]) - middle) * scale);
  }
};

/// Mean and reciprocal deviation of each row; y = (x - mean) rstd w + b.
template <class Real>
struct norm_forward {
  static constexpr char const* label = "weft::layer_norm";
  Real const* in;
  Real const* weight;
  Real const* bias;
  Real* out;
  execution::wide<Real>* mean;
  execution::wide<Real>* rstd;
  std::int64_t columns;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const {
    Real const* WEFT_RESTRICT const x = in + row * columns;
    Real const* WEFT_RESTRICT const w = weight;
    Real const* WEFT_RESTRICT const b = bias;
    Real* WEFT_RESTRICT const y = out + row * columns;
    execution::wide<Real> const middle =
        team.sum(columns, plain_term<Real>{x}) / static_cast<execution::wide<Real>>(columns);
    execution::wide<Real> const variance =
        team.sum(columns, centred_square<Real>{x, middle}) / static_cast<execution::wide<Real>>(columns);
    execution::wide<Real> const scale = math::rsqrt(variance + execution::wide<Real>(1e-5));
    WEFT_INDEPENDENT
    for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride)
      y[c] = static_cast<Real>((execution::widen(x[c]) - middle) * scale * execution::widen(w[c]) +
                               execution::widen(b[c]));
    if (team.leads()) {
      mean[row] = middle;
      rstd[row] = scale;
    }
  }
};

/// dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy w, plus what comes round the branch (`residual`, may be
/// null); `again` is the forward output once more, which dW needs and F did not keep.
template <class Real>
struct norm_backward {
  static constexpr char const* label = "weft::layer_norm_backward";
  Real const* in;
  Real const* weight;
  Real const* bias;
  execution::wide<Real> const* mean;
  execution::wide<Real> const* rstd;
  Real const* grad_out;
  Real const* residual;
  Real* grad_in;
  Real* again;
  std::int64_t columns;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const {
    Real const* WEFT_RESTRICT const x = in + row * columns;
    Real const* WEFT_RESTRICT const w = weight;
    Real const* WEFT_RESTRICT const b = bias;
    Real const* WEFT_RESTRICT const dy = grad_out + row * columns;
    Real* WEFT_RESTRICT const dx = grad_in + row * columns;
    Real* WEFT_RESTRICT const y = again + row * columns;
    execution::wide<Real> const middle = mean[row];
    execution::wide<Real> const scale = rstd[row];
    execution::wide<Real> const mean_plain =
        team.sum(columns, product_term<Real>{dy, w}) / static_cast<execution::wide<Real>>(columns);
    execution::wide<Real> const mean_along =
        team.sum(columns, along_term<Real>{dy, w, x, middle, scale}) / static_cast<execution::wide<Real>>(columns);
    if (residual != nullptr) {
      Real const* WEFT_RESTRICT const add = residual + row * columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride) {
        execution::wide<Real> const xhat = (execution::widen(x[c]) - middle) * scale;
        dx[c] = static_cast<Real>(
            scale * (execution::widen(dy[c]) * execution::widen(w[c]) - mean_plain - xhat * mean_along) +
            execution::widen(add[c]));
        y[c] = static_cast<Real>(xhat * execution::widen(w[c]) + execution::widen(b[c]));
      }
    } else {
      WEFT_INDEPENDENT
      for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride) {
        execution::wide<Real> const xhat = (execution::widen(x[c]) - middle) * scale;
        dx[c] = static_cast<Real>(scale *
                                  (execution::widen(dy[c]) * execution::widen(w[c]) - mean_plain - xhat * mean_along));
        y[c] = static_cast<Real>(xhat * execution::widen(w[c]) + execution::widen(b[c]));
      }
    }
  }
};

/// dw[c] += dy xhat and db[c] += dy; on hosts rows ascending.
template <class Real>
struct norm_weights {
  static constexpr char const* label = "weft::layer_norm_weights";
  using number = execution::wide<Real>;
  static constexpr int sums = 2;
  Real const* in;
  execution::wide<Real> const* mean;
  execution::wide<Real> const* rstd;
  Real const* grad_out;
  execution::wide<Real>* grad_weight;
  execution::wide<Real>* grad_bias;
  std::int64_t rows;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t piece) const {
    std::int64_t const begin = cut.begin(piece);
    std::int64_t const end = cut.end(piece);
    execution::wide<Real>* WEFT_RESTRICT const dw = grad_weight;
    execution::wide<Real>* WEFT_RESTRICT const db = grad_bias;
    for (std::int64_t r = 0; r < rows; ++r) {
      Real const* WEFT_RESTRICT const x = in + r * cut.columns;
      Real const* WEFT_RESTRICT const dy = grad_out + r * cut.columns;
      execution::wide<Real> const middle = mean[r];
      execution::wide<Real> const scale = rstd[r];
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) {
        dw[c] += execution::widen(dy[c]) * ((execution::widen(x[c]) - middle) * scale);
        db[c] += execution::widen(dy[c]);
      }
    }
  }

  KOKKOS_INLINE_FUNCTION void add(std::int64_t row, std::int64_t column, number* to) const {
    number const dy = execution::widen(grad_out[row * cut.columns + column]);
    to[0] += dy * ((execution::widen(in[row * cut.columns + column]) - mean[row]) * rstd[row]);
    to[1] += dy;
  }
  KOKKOS_INLINE_FUNCTION number* target(int which) const { return which == 0 ? grad_weight : grad_bias; }
};

}  // namespace kernels

/// Layer normalisation over rows [rows][columns], epsilon 1e-5 as in GPT-2. Keeps mean and rstd, one number a row each;
/// the normalised rows are made again in backward.
struct layer_norm {
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                      Real const* in, Real const* weight, Real const* bias, Real* out, execution::wide<Real>* mean,
                      execution::wide<Real>* rstd) {
    execution::for_each_row(context.space(), rows,
                            kernels::norm_forward<Real>{in, weight, bias, out, mean, rstd, columns});
  }

  /// grad_in = d(norm)/d(in) grad_out + residual; `again` receives the forward output.
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                             Real const* in, Real const* weight, Real const* bias, execution::wide<Real> const* mean,
                             execution::wide<Real> const* rstd, Real const* grad_out, Real const* residual,
                             Real* grad_in, Real* again) {
    execution::for_each_row(
        context.space(), rows,
        kernels::norm_backward<Real>{in, weight, bias, mean, rstd, grad_out, residual, grad_in, again, columns});
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                              Real const* in, execution::wide<Real> const* mean, execution::wide<Real> const* rstd,
                              Real const* grad_out, execution::wide<Real>* grad_weight,
                              execution::wide<Real>* grad_bias) {
    auto const cut = execution::cut_columns(context.space(), columns);
    execution::for_each_column(
        context.space(), kernels::norm_weights<Real>{in, mean, rstd, grad_out, grad_weight, grad_bias, rows, cut});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
