// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::llama: the query heads cannot share the key and value heads evenly; choose kv_heads that divide

#include <weft/model/llama.hpp>

#ifdef WEFT_TWIN
inline constexpr weft::model::llama_size size{.width = 24, .heads = 6, .kv_heads = 3};
#else
inline constexpr weft::model::llama_size size{.width = 24, .heads = 6, .kv_heads = 4};
#endif

static_assert(weft::model::llama<size>::parameter_count() > 0);
