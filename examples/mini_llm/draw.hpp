// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>

/// @file
/// Random numbers of the example outside the model: counter-based, so that they depend on what they are for and never
/// on who asks, or how often.

namespace mini_llm {

/// Keeps the streams of one seed apart from each other.
enum class draw_purpose : std::uint32_t { training_window = 1, generated_byte = 2 };

namespace detail {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const first = std::uint64_t{0xD2511F53u} * counter[0];
    std::uint64_t const second = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

}  // namespace detail

/// 64 random bits for (seed, purpose, major, minor); `minor` up to 2^32 - 1.
constexpr std::uint64_t draw_bits(std::uint64_t seed, draw_purpose purpose, std::uint64_t major, std::uint64_t minor) {
  auto const block = detail::philox({static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(major >> 32),
                                     static_cast<std::uint32_t>(minor), static_cast<std::uint32_t>(purpose)},
                                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return (static_cast<std::uint64_t>(block[1]) << 32) | block[0];
}

/// A whole number from 0 to bound - 1 (bound at least 1), even to within bound / 2^64: the high half of a 128-bit
/// product, made of 32-bit halves.
constexpr std::uint64_t draw_below(std::uint64_t bound, std::uint64_t seed, draw_purpose purpose, std::uint64_t major,
                                   std::uint64_t minor) {
  constexpr std::uint64_t low_half = 0xFFFFFFFFu;
  std::uint64_t const bits = draw_bits(seed, purpose, major, minor);
  std::uint64_t const low_high = (bits & low_half) * (bound >> 32);
  std::uint64_t const high_low = (bits >> 32) * (bound & low_half);
  std::uint64_t const low_low = (bits & low_half) * (bound & low_half);
  std::uint64_t const carry = ((low_low >> 32) + (low_high & low_half) + (high_low & low_half)) >> 32;
  return (bits >> 32) * (bound >> 32) + (low_high >> 32) + (high_low >> 32) + carry;
}

/// From 0 to less than 1, in steps of 2^-53.
constexpr double draw_unit(std::uint64_t seed, draw_purpose purpose, std::uint64_t major, std::uint64_t minor) {
  return static_cast<double>(draw_bits(seed, purpose, major, minor) >> 11) * 0x1p-53;
}

}  // namespace mini_llm
