// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft: -ffast-math reorders additions, and weft promises equal bits

// What a compiler sets under -ffast-math.
#ifndef WEFT_TWIN
#define __FAST_MATH__ 1
#endif
#include <weft/config.hpp>

static_assert(weft::version.major == WEFT_VERSION_MAJOR);
