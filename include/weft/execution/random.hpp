// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Random numbers that know no state: Philox 4x32 with ten rounds (Salmon et al., SC11). A number is a function of a
/// 64-bit key and a 128-bit counter, so it may be keyed by what it is for (seed, step, layer, sample, element) and
/// never by which rank or thread draws it.

#include <weft/config.hpp>
#include <weft/detail/fnv1a.hpp>
#include <weft/execution/math.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string_view>

namespace weft::inline v1::random {

/// Four 32-bit words: a counter, or what Philox makes of it.
struct words {
  std::uint32_t word[4];

  friend constexpr bool operator==(words const&, words const&) = default;
};

struct key {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

constexpr key make_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

/// Philox 4x32-10; equals Random123's published vectors (tests/unit/test_random.cpp).
KOKKOS_INLINE_FUNCTION constexpr words philox(words counter, key which) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const first = std::uint64_t{0xD2511F53U} * counter.word[0];
    std::uint64_t const second = std::uint64_t{0xCD9E8D57U} * counter.word[2];
    counter = words{
        {static_cast<std::uint32_t>(second >> 32) ^ counter.word[1] ^ which.low, static_cast<std::uint32_t>(second),
         static_cast<std::uint32_t>(first >> 32) ^ counter.word[3] ^ which.high, static_cast<std::uint32_t>(first)}};
    which.low += 0x9E3779B9U;
    which.high += 0xBB67AE85U;
  }
  return counter;
}

/// In the open interval (0, 1): never 0, never 1.
template <class Real>
KOKKOS_INLINE_FUNCTION constexpr Real uniform(std::uint32_t word) {
  if constexpr (sizeof(Real) >= 8) {
    return (static_cast<Real>(word) + Real(0.5)) * Real(1.0 / 4294967296.0);
  } else {
    return (static_cast<Real>(word >> 9) + Real(0.5)) * Real(1.0 / 8388608.0);
  }
}

struct pair {
  double first;
  double second;
};

/// Two independent normal deviates (mean 0, deviation 1) from two words, by Box and Muller's polar angles.
KOKKOS_INLINE_FUNCTION pair normal(std::uint32_t first, std::uint32_t second) {
  double const radius = math::sqrt(-2.0 * math::log(uniform<double>(first)));
  double const angle = 6.283185307179586 * uniform<double>(second);
  return {radius * math::cos(angle), radius * math::sin(angle)};
}

/// What turns a parameter's name into part of a counter.
constexpr std::uint64_t hash(std::string_view text) { return weft::detail::fnv1a().add(text).value(); }

}  // namespace weft::inline v1::random
