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

/// dy w x.
template <class Real>
struct weighted_product_term {
  Real const* grad;
  Real const* weight;
  Real const* row;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return execution::widen(grad[c]) * execution::widen(weight[c]) * execution::widen(row[c]);
  }
};

/// Reciprocal root of each row's mean square; y = x rstd w.
template <class Real>
struct rms_norm_forward {
  static constexpr char const* label = "weft::rms_norm";
  Real const* in;
  Real const* weight;
  Real* out;
  execution::wide<Real>* rstd;
  execution::wide<Real> epsilon;
  std::int64_t columns;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const {
    Real const* WEFT_RESTRICT const x = in + row * columns;
    Real const* WEFT_RESTRICT const w = weight;
    Real* WEFT_RESTRICT const y = out + row * columns;
    execution::wide<Real> const square =
        team.sum(columns, product_term<Real>{x, x}) / static_cast<execution::wide<Real>>(columns);
    execution::wide<Real> const scale = math::rsqrt(square + epsilon);
    WEFT_INDEPENDENT
    for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride)
      y[c] = static_cast<Real>(execution::widen(x[c]) * scale * execution::widen(w[c]));
    if (team.leads()) rstd[row] = scale;
  }
};

/// dx = rstd (g - xhat mean(g xhat)) with g = dy w, plus what comes round the branch (`residual`, may be null); `again`
/// is the forward output once more, which dW needs and F did not keep.
template <class Real>
struct rms_norm_backward {
  static constexpr char const* label = "weft::rms_norm_backward";
  Real const* in;
  Real const* weight;
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
    Real const* WEFT_RESTRICT const dy = grad_out + row * columns;
    Real* WEFT_RESTRICT const dx = grad_in + row * columns;
    Real* WEFT_RESTRICT const y = again + row * columns;
    execution::wide<Real> const scale = rstd[row];
    execution::wide<Real> const mean_along =
        team.sum(columns, weighted_product_term<Real>{dy, w, x}) * scale / static_cast<execution::wide<Real>>(columns);
    if (residual != nullptr) {
      Real const* WEFT_RESTRICT const add = residual + row * columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride) {
        execution::wide<Real> const xhat = execution::widen(x[c]) * scale;
        dx[c] = static_cast<Real>(scale * (execution::widen(dy[c]) * execution::widen(w[c]) - xhat * mean_along) +
                                  execution::widen(add[c]));
        y[c] = static_cast<Real>(xhat * execution::widen(w[c]));
      }
    } else {
      WEFT_INDEPENDENT
      for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride) {
        execution::wide<Real> const xhat = execution::widen(x[c]) * scale;
        dx[c] = static_cast<Real>(scale * (execution::widen(dy[c]) * execution::widen(w[c]) - xhat * mean_along));
        y[c] = static_cast<Real>(xhat * execution::widen(w[c]));
      }
    }
  }
};

/// dw[c] += dy xhat; on hosts rows ascending.
template <class Real>
struct rms_norm_weights {
  static constexpr char const* label = "weft::rms_norm_weights";
  using number = execution::wide<Real>;
  static constexpr int sums = 1;
  Real const* in;
  execution::wide<Real> const* rstd;
  Real const* grad_out;
  execution::wide<Real>* grad_weight;
  std::int64_t rows;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t piece) const {
    std::int64_t const begin = cut.begin(piece);
    std::int64_t const end = cut.end(piece);
    execution::wide<Real>* WEFT_RESTRICT const dw = grad_weight;
    for (std::int64_t r = 0; r < rows; ++r) {
      Real const* WEFT_RESTRICT const x = in + r * cut.columns;
      Real const* WEFT_RESTRICT const dy = grad_out + r * cut.columns;
      execution::wide<Real> const scale = rstd[r];
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) dw[c] += execution::widen(dy[c]) * (execution::widen(x[c]) * scale);
    }
  }

  KOKKOS_INLINE_FUNCTION void add(std::int64_t row, std::int64_t column, number* to) const {
    std::int64_t const at = row * cut.columns + column;
    to[0] += execution::widen(grad_out[at]) * (execution::widen(in[at]) * rstd[row]);
  }
  KOKKOS_INLINE_FUNCTION number* target(int) const { return grad_weight; }
};

}  // namespace kernels

/// Root-mean-square normalisation (Zhang and Sennrich 2019) over rows [rows][columns]: a layer norm without mean and
/// bias. Keeps one number a row; the normalised rows are made again in backward.
struct rms_norm {
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                      double epsilon, Real const* in, Real const* weight, Real* out, execution::wide<Real>* rstd) {
    execution::for_each_row(
        context.space(), rows,
        kernels::rms_norm_forward<Real>{in, weight, out, rstd, static_cast<execution::wide<Real>>(epsilon), columns});
  }

  /// grad_in = d(norm)/d(in) grad_out + residual; `again` receives the forward output.
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                             Real const* in, Real const* weight, execution::wide<Real> const* rstd,
                             Real const* grad_out, Real const* residual, Real* grad_in, Real* again) {
    execution::for_each_row(
        context.space(), rows,
        kernels::rms_norm_backward<Real>{in, weight, rstd, grad_out, residual, grad_in, again, columns});
  }

  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                              Real const* in, execution::wide<Real> const* rstd, Real const* grad_out,
                              execution::wide<Real>* grad_weight) {
    auto const cut = execution::cut_columns(context.space(), columns);
    execution::for_each_column(context.space(),
                               kernels::rms_norm_weights<Real>{in, rstd, grad_out, grad_weight, rows, cut});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
