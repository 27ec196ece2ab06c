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
#include <string_view>

/// @file
/// From a row of logits to the next byte, and from bytes to what a terminal may be sent. Does not communicate.

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
  std::size_t const kept = how.top_k <= 0 ? logits.size() : std::min(logits.size(), static_cast<std::size_t>(how.top_k));
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

/// Bytes as a terminal can be sent them: well-formed UTF-8, line ends and tabs as they are; control characters and
/// bytes that are no UTF-8 as \xHH. No sequence that moves a cursor or changes a colour gets through.
inline std::string printable(std::span<std::uint8_t const> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  // Length of the well-formed sequence at `place`, 0 if there is none (overlong forms, surrogates and beyond U+10FFFF
  // are malformed).
  auto const sequence = [&](std::size_t place) -> std::size_t {
    std::uint8_t const lead = bytes[place];
    std::size_t const length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5                 ? 4
                                                                             : 0;
    if (length == 0 || place + length > bytes.size()) return 0;
    for (std::size_t index = 1; index < length; ++index)
      if ((bytes[place + index] & 0xC0) != 0x80) return 0;
    if (length == 1) return 1;
    std::uint8_t const second = bytes[place + 1];
    if (lead == 0xC2 && second < 0xA0) return 0;  // U+0080..U+009F are control characters, too
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return length;
  };
  std::string result;
  for (std::size_t place = 0; place < bytes.size();) {
    std::uint8_t const byte = bytes[place];
    std::size_t const length = sequence(place);
    bool const control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (length == 0 || control) {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
      ++place;
    } else {
      for (std::size_t index = 0; index < length; ++index) result += static_cast<char>(bytes[place + index]);
      place += length;
    }
  }
  return result;
}

inline std::string printable(std::string_view text) {
  return printable(std::span(reinterpret_cast<std::uint8_t const*>(text.data()), text.size()));
}

}  // namespace mini_llm
