// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::llama: the head width is odd, and rotary positions turn pairs of numbers; choose heads such that

#include <weft/model/llama.hpp>

#ifdef WEFT_TWIN
inline constexpr weft::model::llama_size size{.width = 12, .heads = 3, .kv_heads = 1};
#else
inline constexpr weft::model::llama_size size{.width = 9, .heads = 3, .kv_heads = 1};
#endif

static_assert(weft::model::llama<size>::parameter_count() > 0);
