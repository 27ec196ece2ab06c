// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// The sizes of a GPT-2: a flat structural value, so that it can be a template argument (nvcc 13 takes flat structs of
/// scalars only) and every shape, FLOP and byte count of a model is a constant.
struct gpt_size {
  int vocabulary = 256;
  int positions = 128;
  int width = 128;
  int heads = 4;
  int blocks = 4;

  friend constexpr bool operator==(gpt_size const&, gpt_size const&) = default;
};

/// About 0.84 million parameters: learns a text within two minutes on two cores.
inline constexpr gpt_size nano{.vocabulary = 256, .positions = 128, .width = 128, .heads = 4, .blocks = 4};

/// About 10.8 million parameters.
inline constexpr gpt_size small{.vocabulary = 256, .positions = 256, .width = 384, .heads = 6, .blocks = 6};

/// OpenAI's smallest release: 124,439,808 parameters.
inline constexpr gpt_size gpt2_124m{.vocabulary = 50257, .positions = 1024, .width = 768, .heads = 12, .blocks = 12};

}  // namespace weft::inline v1::model
