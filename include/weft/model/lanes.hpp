// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// Sixteen partial sums (or maxima), folded in a fixed order: how a row kernel adds. The lanes are independent, so the
/// compiler keeps them in vector registers without being allowed to reorder anything, and the order of additions is the
/// same on every backend. Column c goes to lane c % 16.
template <class Real>
struct lanes {
  static constexpr int count = 16;

  Real lane[count];

  KOKKOS_INLINE_FUNCTION explicit lanes(Real start) {
    for (int l = 0; l < count; ++l) lane[l] = start;
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Real sum() {
    for (int half = count / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Real largest() {
    for (int half = count / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    return lane[0];
  }
};

}  // namespace weft::inline v1::model
