// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/random.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// What decides a dropout mask, beside the element: never the rank, the stage or the micro-batch.
struct dropout_keys {
  double rate = 0.0;  ///< 0: no dropout
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::int64_t first_sample = 0;  ///< global index of the micro-batch's first sequence
  int layer = 0;                  ///< number in the whole model
};

/// The numbers in which one call of a stage differs from another of the same op and slot. Kernels read them from the
/// execution space's memory, at a place that is the same in every call, and never get them as arguments: a launch that
/// was recorded once (execution/graph.hpp) then does the work of every micro-batch and step.
struct call_values {
  double gradient_scale = 1.0;    ///< 1 / counted tokens of the whole batch, times the loss scale
  std::int64_t first_sample = 0;  ///< of dropout_keys, as are key (seed and the high half of step) and step
  random::key key{};
  std::uint32_t step = 0;

  static constexpr call_values make(dropout_keys const& keys, double scale) {
    return {scale, keys.first_sample, random::make_key(keys.seed ^ ((keys.step >> 32) << 32)),
            static_cast<std::uint32_t>(keys.step)};
  }
};

}  // namespace weft::inline v1::model
