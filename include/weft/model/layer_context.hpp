// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/pipeline/stage_context.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// Where a layer's parameters lie, in the order in which it describes them.
template <class Real>
struct layer_parameters {
  static constexpr int most = 16;

  Real const* value[most] = {};
  execution::wide<Real>* gradient[most] = {};  ///< added up in float where numbers have 16 bits
};

/// Everything a layer is told about one call: the engine's context, the library handle, shapes, parameters, tokens,
/// random keys and scratch memory. Pointers are to the execution space's memory, and the same in every call of one op
/// and slot. What is not, kernels read from `now`: a layer that gave them step or sample of `dropout` by value would
/// compute another call's numbers where calls are replayed.
template <class Real, class Space>
struct layer_context {
  stage_context<Space> const& stage;
  blas::handle<Space>& blas;
  extents size;  ///< of this micro-batch
  layer_parameters<Real> parameters;
  arena workspace;  ///< free again after the call; a layer works on copies
  std::int32_t const* inputs = nullptr;
  std::int32_t const* targets = nullptr;
  double* loss_sum = nullptr;  ///< where the head leaves this micro-batch's sum of -log p
  call_values const* now = nullptr;
  dropout_keys dropout;

  [[nodiscard]] Space const& space() const { return stage.space(); }
  [[nodiscard]] std::int64_t tokens() const { return size.tokens(); }
};

}  // namespace weft::inline v1::model
