// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule::custom: the text is not a table

#include <weft/schedule/custom.hpp>

#ifdef WEFT_TWIN
using order = weft::schedule::custom<"0F0,0B0\n">;
#else
using order = weft::schedule::custom<"0F0,0Q0\n">;
#endif
static_assert(order::check(1, 1).legal());
