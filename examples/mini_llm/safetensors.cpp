// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "safetensors.hpp"

namespace mini_llm {

std::int64_t tensor_info::elements() const {
  std::int64_t product = 1;
  for (std::int64_t const extent : shape) product *= extent;
  return product;
}

std::string shape_text(std::span<std::int64_t const> shape) {
  constexpr std::size_t most = 16;  // of a message
  std::string text = "[";
  for (std::size_t dimension = 0; dimension < shape.size() && dimension < most; ++dimension)
    text += (dimension == 0 ? "" : ", ") + std::to_string(shape[dimension]);
  return text + (shape.size() > most ? ", and " + std::to_string(shape.size() - most) + " more]" : "]");
}

}  // namespace mini_llm
