// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <weft/error.hpp>
#include <weft/execution/reduced.hpp>

#include <string>

/// @file
/// What this program computes in. mini_llm, mini_llm_bf16 and mini_llm_fp16 are the same sources with another type of
/// numbers, since every type compiles all models once more (docs/precision.md).

namespace mini_llm {

#if defined(MINI_LLM_BF16)
using numbers = weft::bf16_mixed;
inline constexpr precision_kind own_precision = precision_kind::bf16;
#elif defined(MINI_LLM_FP16)
using numbers = weft::fp16_mixed;
inline constexpr precision_kind own_precision = precision_kind::fp16;
#else
using numbers = weft::fp32;
inline constexpr precision_kind own_precision = precision_kind::fp32;
#endif

/// `auto` becomes this program's own. Throws where another program is meant.
inline precision_kind checked_precision(precision_kind wanted) {
  bool const is_fp32 = own_precision == precision_kind::fp32;
  if (wanted == precision_kind::automatic || wanted == own_precision) return own_precision;
  if (wanted == precision_kind::tf32 && is_fp32) return wanted;
  bool const wants_fp32 = wanted == precision_kind::fp32 || wanted == precision_kind::tf32;
  std::string const name = std::string("mini_llm") + (wants_fp32 ? "" : std::string("_") + to_text(wanted));
  throw weft::error("mini_llm::options: this program computes in " + std::string(to_text(own_precision)) +
                    ", and --precision asks for " + to_text(wanted) + "; build and run " + name +
                    " (cmake --build build --target " + name + ")");
}

}  // namespace mini_llm
