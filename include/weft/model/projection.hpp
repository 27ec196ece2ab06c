// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// out = in, element by element.
template <class Real>
struct copy_rows {
  static constexpr char const* label = "weft::residual";
  Real const* in;
  Real* out;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    Real const* WEFT_RESTRICT const from = in + row * cut.columns;
    Real* WEFT_RESTRICT const to = out + row * cut.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) to[c] = from[c];
  }
};

}  // namespace kernels

/// y = x W^T over rows, without bias: x [rows][inputs], W [outputs][inputs] (the layout of torch's Linear; `linear` has
/// that of GPT-2's Conv1D), y [rows][outputs]. y and its gradient may be columns of wider rows (`leading`). Backward in
/// halves: dx = dy W, then dW += dy^T x.
struct projection {
  /// y = x W^T + beta y; nothing is read of y where beta is 0.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                      std::int64_t outputs, Real const* in, Real const* weight,
                      std::type_identity_t<execution::wide<Real>> beta, Real* out, std::int64_t leading) {
    blas::gemm<Space, Real>(context.blas, blas::transpose::no, blas::transpose::yes, rows, outputs, inputs, 1,
                            {in, inputs}, {weight, inputs}, beta, {out, leading});
    context.stage.progress();
  }

  /// y = residual + x W^T.
  template <class Real, class Space>
  static void forward_residual(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                               std::int64_t outputs, Real const* in, Real const* weight, Real const* residual,
                               Real* out) {
    auto const cut = execution::cut_row<Space>(outputs);
    execution::for_each(context.space(), rows * cut.pieces(), kernels::copy_rows<Real>{residual, out, cut});
    forward(context, rows, inputs, outputs, in, weight, 1, out, outputs);
  }

  /// dx = dy W + beta dx.
  template <class Real, class Space>
  static void backward_input(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                             std::int64_t outputs, Real const* grad_out, std::int64_t leading, Real const* weight,
                             std::type_identity_t<execution::wide<Real>> beta, Real* grad_in) {
    blas::gemm<Space, Real>(context.blas, blas::transpose::no, blas::transpose::no, rows, inputs, outputs, 1,
                            {grad_out, leading}, {weight, inputs}, beta, {grad_in, inputs});
    context.stage.progress();
  }

  /// Adds to grad_weight.
  template <class Real, class Space>
  static void backward_weight(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t inputs,
                              std::int64_t outputs, Real const* in, Real const* grad_out, std::int64_t leading,
                              execution::wide<Real>* grad_weight) {
    if (rows == 0) return;
    blas::gemm<Space, Real, execution::wide<Real>>(context.blas, blas::transpose::yes, blas::transpose::no, outputs,
                                                   inputs, rows, 1, {grad_out, leading}, {in, inputs}, 1,
                                                   {grad_weight, inputs});
    context.stage.progress();
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
