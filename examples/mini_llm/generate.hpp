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
int next_byte(std::span<float const> logits, sampling const& how, std::uint64_t seed, std::uint64_t position);

/// What the model is shown when it continues a text: the last `sequence_length` bytes, from column 0 on, zeros behind.
/// The logits of column `column` are those of the next byte. A causal model does not see what stands behind it.
struct context_window {
  std::size_t first = 0;
  int column = 0;
};

/// Fills `inputs` (one row of `sequence_length` tokens). Errors: an empty text, which has no last byte to go on from.
context_window fill_context(std::span<std::uint8_t const> text, int sequence_length, std::int32_t* inputs);

}  // namespace mini_llm
