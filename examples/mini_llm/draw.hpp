// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/execution/random.hpp>

#include <cstdint>

/// @file
/// Random numbers of the example outside the model: counter-based, so that they depend on what they are for and never
/// on who asks, or how often.

namespace mini_llm {

/// Keeps the streams of one seed apart from each other.
enum class draw_purpose : std::uint32_t { training_window = 1, generated_byte = 2 };

/// 64 random bits for (seed, purpose, major, minor); `minor` up to 2^32 - 1. The key differs from the model's own, so
/// that no window has to do with a weight or a dropout mask of the same seed.
constexpr std::uint64_t draw_bits(std::uint64_t seed, draw_purpose purpose, std::uint64_t major, std::uint64_t minor) {
  weft::random::words const block = weft::random::philox(
      weft::random::words{{static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(major >> 32),
                           static_cast<std::uint32_t>(minor), static_cast<std::uint32_t>(purpose)}},
      weft::random::make_key(seed ^ weft::random::hash("mini_llm")));
  return (static_cast<std::uint64_t>(block.word[1]) << 32) | block.word[0];
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
