// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduce.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/execution/row_team.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/lanes.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

template <class Real>
struct shifted_exp {
  Real const* row;
  execution::wide<Real> shift;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return math::exp(execution::widen(row[c]) - shift);
  }
};

/// logsum[row] = log sum exp of the row's logits; loss[row] = logsum - logit of the target, 0 where it is not counted.
template <class Real>
struct cross_entropy_forward {
  static constexpr char const* label = "weft::cross_entropy";
  Real const* logits;
  std::int32_t const* targets;
  execution::wide<Real>* logsum;
  double* loss;
  std::int64_t columns;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const {
    Real const* WEFT_RESTRICT const x = logits + row * columns;
    execution::wide<Real> const largest = team.largest(columns, x);
    execution::wide<Real> const rest = math::log(team.sum(columns, shifted_exp<Real>{x, largest}));
    if (!team.leads()) return;
    std::int32_t const target = targets[row];
    logsum[row] = largest + rest;
    // (largest - logit) is exact or nearly so; adding it to the small rest keeps digits that logsum - logit would lose
    loss[row] =
        target < 0 ? 0.0 : static_cast<double>(largest - execution::widen(x[target])) + static_cast<double>(rest);
  }
};

/// logits -> their gradient, in place: (softmax - one at the target) * scale; 0 in rows that are not counted.
template <class Real>
struct cross_entropy_backward {
  static constexpr char const* label = "weft::cross_entropy_backward";
  Real* logits;
  std::int32_t const* targets;
  execution::wide<Real> const* logsum;
  call_values const* now;
  std::int64_t columns;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const {
    Real* WEFT_RESTRICT const x = logits + row * columns;
    std::int32_t const target = targets[row];
    execution::wide<Real> const shift = logsum[row];
    execution::wide<Real> const scale = static_cast<execution::wide<Real>>(now->gradient_scale);
    execution::wide<Real> const factor = target < 0 ? 0 : scale;
    bool const has_target = target >= 0 && team.owns(target);
    // Before it is rounded: near 1, p - 1 would keep nothing of it.
    execution::wide<Real> const at_target = has_target ? math::exp(execution::widen(x[target]) - shift) * factor : 0;
    WEFT_INDEPENDENT
    for (std::int64_t c = team.begin(0), end = team.end(columns); c < end; c += Team::stride)
      x[c] = static_cast<Real>(math::exp(execution::widen(x[c]) - shift) * factor);
    if (has_target) x[target] = static_cast<Real>(at_target - scale);
  }
};

}  // namespace kernels

/// Softmax and cross-entropy in one: probabilities are never stored.
struct cross_entropy {
  /// Numbers of double in the workspace: one loss a row, and the partial sums.
  static constexpr std::int64_t workspace_elements(std::int64_t rows) { return rows + reduction::chunks_of(rows) + 16; }

  /// *loss_sum = sum of -log p(target) over counted rows, in double.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns,
                      Real const* logits, execution::wide<Real>* logsum) {
    arena workspace = context.workspace;
    double* const loss = workspace.take<double>(rows);
    double* const partial = workspace.take<double>(reduction::chunks_of(rows));
    execution::for_each_row(context.space(), rows,
                            kernels::cross_entropy_forward<Real>{logits, context.targets, logsum, loss, columns});
    reduce_into(context.space(), static_cast<double const*>(loss), rows, partial, context.loss_sum);
  }

  /// logits become the gradient of the batch's mean loss.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, std::int64_t rows, std::int64_t columns, Real* logits,
                       execution::wide<Real> const* logsum) {
    execution::for_each_row(
        context.space(), rows,
        kernels::cross_entropy_backward<Real>{logits, context.targets, logsum, context.now, columns});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
