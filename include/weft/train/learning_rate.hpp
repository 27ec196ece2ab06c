// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cmath>
#include <cstdint>

namespace weft::inline v1::train {

/// Linear warm-up, then half a cosine down to `floor * peak` (Radford et al. 2018, section 4.1; SGDR, arXiv
/// 1608.03983, eq. 5). A function of the step alone, so that a resumed run follows the same curve.
struct warmup_cosine {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< 0: stays at the peak after the warm-up
  double floor = 0.1;

  /// `step` counts from 0; the first step of a warm-up is already above zero.
  [[nodiscard]] double operator()(std::int64_t step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (total_steps == 0) return peak;
    if (step >= total_steps) return peak * floor;
    double const done = static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
    constexpr double pi = 3.14159265358979323846;
    return peak * (floor + (1.0 - floor) * 0.5 * (1.0 + std::cos(pi * done)));
  }
};

}  // namespace weft::inline v1::train
