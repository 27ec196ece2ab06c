// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "draw.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>

/// @file
/// From a row of logits to the next byte of a text. Does not communicate.

namespace mini_llm {

struct sampling {
  double temperature = 0.8;  ///< 0: always the likeliest byte
  int top_k = 0;             ///< among the k likeliest only; 0: among all
};

/// The next byte of a text whose model gave `logits` (256 of them). Equal logits rank by byte value. The random number
/// is that of (seed, position), position counting from the start of the text: a sample does not depend on who draws it.
/// Errors: a logit that is not a number, or none that is finite.
inline int next_byte(std::span<float const> logits, sampling const& how, std::uint64_t seed, std::uint64_t position) {
  for (std::size_t byte = 0; byte < logits.size(); ++byte)
    if (std::isnan(logits[byte]) || logits[byte] == HUGE_VALF)
      throw weft::error("mini_llm::generate: the logit of byte " + std::to_string(byte) + " at position " +
                        std::to_string(position) + " is not finite; the training diverged: lower --lr");
  std::array<int, 256> order{};
  if (logits.empty() || logits.size() > order.size())
    throw weft::error("mini_llm::generate: " + std::to_string(logits.size()) + " logits; 1 to 256 are expected");
  auto const end = order.begin() + static_cast<std::ptrdiff_t>(logits.size());
  std::iota(order.begin(), end, 0);
  std::sort(order.begin(), end, [&](int left, int right) {
    float const first = logits[static_cast<std::size_t>(left)];
    float const second = logits[static_cast<std::size_t>(right)];
    return first != second ? first > second : left < right;
  });
  double const highest = static_cast<double>(logits[static_cast<std::size_t>(order[0])]);
  if (!std::isfinite(highest))
    throw weft::error("mini_llm::generate: no logit at position " + std::to_string(position) +
                      " is finite; the training diverged: lower --lr");
  if (how.temperature <= 0.0) return order[0];
  std::size_t const kept =
      how.top_k <= 0 ? logits.size() : std::min(logits.size(), static_cast<std::size_t>(how.top_k));
  std::array<double, 256> weight{};
  double total = 0.0;
  for (std::size_t place = 0; place < kept; ++place) {
    weight[place] =
        std::exp((static_cast<double>(logits[static_cast<std::size_t>(order[place])]) - highest) / how.temperature);
    total += weight[place];
  }
  double left = draw_unit(seed, draw_purpose::generated_byte, position, 0) * total;
  for (std::size_t place = 0; place < kept; ++place) {
    left -= weight[place];
    if (left < 0.0) return order[place];
  }
  return order[0];  // rounding used the whole sum up
}

/// What the model is shown when it continues a text: the last `sequence_length` bytes, from column 0 on, zeros behind.
/// The logits of column `column` are those of the next byte. A causal model does not see what stands behind it.
struct context_window {
  std::size_t first = 0;
  int column = 0;
};

/// Fills `inputs` (one row of `sequence_length` tokens). Errors: an empty text, which has no last byte to go on from.
inline context_window fill_context(std::span<std::uint8_t const> text, int sequence_length, std::int32_t* inputs) {
  if (text.empty()) throw weft::error("mini_llm::generate: the prompt is empty; give --prompt at least one byte");
  std::size_t const shown = std::min(text.size(), static_cast<std::size_t>(sequence_length));
  context_window const window{text.size() - shown, static_cast<int>(shown) - 1};
  for (std::size_t column = 0; column < static_cast<std::size_t>(sequence_length); ++column)
    inputs[column] = column < shown ? text[window.first + column] : 0;
  return window;
}

}  // namespace mini_llm
