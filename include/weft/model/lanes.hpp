// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/lanes.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model {

using execution::lanes;

/// Terms that several kernels add.
template <class Real>
struct plain_term {
  Real const* row;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return execution::widen(row[c]);
  }
};
template <class Real>
struct product_term {
  Real const* left;
  Real const* right;
  KOKKOS_FORCEINLINE_FUNCTION execution::wide<Real> operator()(std::int64_t c) const {
    return execution::widen(left[c]) * execution::widen(right[c]);
  }
};

}  // namespace weft::inline v1::model
