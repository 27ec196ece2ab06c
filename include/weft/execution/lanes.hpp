// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace weft::inline v1::execution {

/// How a row kernel adds: sixteen partial sums (column c goes to sum c % 16), folded in a fixed order. The sums do not
/// wait for each other, so the compiler keeps them in vector registers without being allowed to reorder anything, and
/// the order of additions is the same on every backend, for one thread a row and for a team (row_team.hpp).
///
/// `Term` gives the number of a column: a small named functor.
template <class Real>
struct lanes {
  static constexpr int count = 16;
  static constexpr Real bottom = -std::numeric_limits<Real>::infinity();

  template <class Term>
  static KOKKOS_FORCEINLINE_FUNCTION Real sum(std::int64_t columns, Term const& term) {
    Real lane[count] = {};
    std::int64_t c = 0;
    for (; c + count <= columns; c += count) {
      WEFT_KEEP_LOOP
      for (int l = 0; l < count; ++l) lane[l] += term(c + l);
    }
    if (c < columns)  // with an index known while compiling, a device keeps the lanes in registers
      for (int l = 0; l < count; ++l)
        if (c + l < columns) lane[l] += term(c + l);
    return fold_sum(lane);
  }

  /// The largest number of a row. Starts from minus infinity, not from the first column: g++ would then keep that
  /// column's value in a register (partial redundancy elimination) and vectorise no later loop over the row.
  /// `Stored`: Real, or what is widened to it.
  template <class Stored>
  static KOKKOS_FORCEINLINE_FUNCTION Real largest(std::int64_t columns, Stored const* WEFT_RESTRICT row) {
    Real lane[count];
    for (int l = 0; l < count; ++l) lane[l] = bottom;
    std::int64_t c = 0;
    for (; c + count <= columns; c += count) {
      WEFT_KEEP_LOOP
      for (int l = 0; l < count; ++l) {
        Real const value = widen(row[c + l]);
        lane[l] = math::detail::choose(value > lane[l], value, lane[l]);
      }
    }
    if (c < columns)
      for (int l = 0; l < count; ++l)
        if (c + l < columns && widen(row[c + l]) > lane[l]) lane[l] = widen(row[c + l]);
    return fold_largest(lane);
  }

  static KOKKOS_FORCEINLINE_FUNCTION Real fold_sum(Real* lane) {
    for (int l = 0; l < 8; ++l) lane[l] += lane[l + 8];
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
  }

  static KOKKOS_FORCEINLINE_FUNCTION Real fold_largest(Real* lane) {
    for (int l = 0; l < 8; ++l) lane[l] = math::detail::choose(lane[l + 8] > lane[l], lane[l + 8], lane[l]);
    Real result = lane[0];
    for (int l = 1; l < 8; ++l) result = lane[l] > result ? lane[l] : result;
    return result;
  }
};

}  // namespace weft::inline v1::execution
