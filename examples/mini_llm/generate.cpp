// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "generate.hpp"

namespace mini_llm {

int next_byte(std::span<float const> logits, sampling const& how, std::uint64_t seed, std::uint64_t position) {
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

context_window fill_context(std::span<std::uint8_t const> text, int sequence_length, std::int32_t* inputs) {
  if (text.empty()) throw weft::error("mini_llm::generate: the prompt is empty; give --prompt at least one byte");
  std::size_t const shown = std::min(text.size(), static_cast<std::size_t>(sequence_length));
  context_window const window{text.size() - shown, static_cast<int>(shown) - 1};
  for (std::size_t column = 0; column < static_cast<std::size_t>(sequence_length); ++column)
    inputs[column] = column < shown ? text[window.first + column] : 0;
  return window;
}

}  // namespace mini_llm
