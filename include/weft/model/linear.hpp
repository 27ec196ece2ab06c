// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/column_team.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// out[r][c] = bias[c] (+ residual[r][c]): what the product is then added to, so that bias and residual cost one pass.
template <class Real, bool HasResidual>
struct fill_rows {
  static constexpr char const* label = HasResidual ? "weft::fill_bias_residual" : "weft::fill_bias";
  Real const* bias;
  Real const* residual;
  Real* out;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const add = bias;
    Real* WEFT_RESTRICT const to = out + row * cut.columns;
    if constexpr (HasResidual) {
      Real const* WEFT_RESTRICT const from = residual + row * cut.columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c)
        to[c] = static_cast<Real>(execution::widen(from[c]) + execution::widen(add[c]));
    } else {
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) to[c] = add[c];
    }
  }
};

/// sum[c] += data[r][c]; on hosts r ascending.
template <class Real>
struct add_columns {
  static constexpr char const* label = "weft::bias_gradient";
  using number = execution::wide<Real>;
  static constexpr int sums = 1;
  Real const* data;
  execution::wide<Real>* sum;
  std::int64_t rows;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t piece) const {
    std::int64_t const begin = cut.begin(piece);
    std::int64_t const end = cut.end(piece);
    execution::wide<Real>* WEFT_RESTRICT const to = sum;
    for (std::int64_t r = 0; r < rows; ++r) {
      Real const* WEFT_RESTRICT const from = data + r * cut.columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) to[c] += execution::widen(from[c]);
    }
  }

  KOKKOS_INLINE_FUNCTION void add(std::int64_t row, std::int64_t column, number* to) const {
    to[0] += execution::widen(data[row * cut.columns + column]);
  }
  KOKKOS_INLINE_FUNCTION number* target(int) const { return sum; }
};

}  // namespace kernels

/// y = x W + b over rows: x [rows][inputs], W [inputs][outputs] (GPT-2's Conv1D layout), y [rows][outputs]. Backward in
/// halves: dx = dy W^T, then dW += x^T dy and db += column sums of dy.
struct linear {
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                      std::int64_t outputs, Real const* in, Real const* weight, Real const* bias, Real* out) {
    auto const cut = execution::cut_row<Space>(outputs);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::fill_rows<Real, false>{bias, nullptr, out, cut});
    multiply(context, rows, inputs, outputs, in, weight, 1, out);
  }

  /// y = residual + b + x W.
  template <class Real, class Space>
  static void forward_residual(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                               std::int64_t outputs, Real const* in, Real const* weight, Real const* bias,
                               Real const* residual, Real* out) {
    auto const cut = execution::cut_row<Space>(outputs);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::fill_rows<Real, true>{bias, residual, out, cut});
    multiply(context, rows, inputs, outputs, in, weight, 1, out);
  }

  /// y = x W + beta y.
  template <class Real, class Space>
  static void multiply(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                       std::int64_t outputs, Real const* in, Real const* weight,
                       std::type_identity_t<execution::wide<Real>> beta, Real* out) {
    blas::gemm<Space, Real>(context.blas, blas::transpose::no, blas::transpose::no, rows, outputs, inputs, 1,
                            {in, inputs}, {weight, outputs}, beta, {out, outputs});
    context.stage.progress();
  }

  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                             std::int64_t outputs, Real const* grad_out, Real const* weight, Real* grad_in) {
    blas::gemm<Space, Real>(context.blas, blas::transpose::no, blas::transpose::yes, rows, inputs, outputs, 1,
                            {grad_out, outputs}, {weight, outputs}, 0, {grad_in, inputs});
    context.stage.progress();
  }

  /// Adds to grad_weight and grad_bias.
  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                              std::int64_t outputs, Real const* in, Real const* grad_out,
                              execution::wide<Real>* grad_weight, execution::wide<Real>* grad_bias) {
    if (rows == 0) return;
    blas::gemm<Space, Real, execution::wide<Real>>(context.blas, blas::transpose::yes, blas::transpose::no, inputs,
                                                   outputs, rows, 1, {in, inputs}, {grad_out, outputs}, 1,
                                                   {grad_weight, outputs});
    auto const cut = execution::cut_columns(context.space(), outputs);
    execution::for_each_column(context.space(), kernels::add_columns<Real>{grad_out, grad_bias, rows, cut});
    context.stage.progress();
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
