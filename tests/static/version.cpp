// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/config.hpp>

static_assert(weft::version.major == WEFT_VERSION_MAJOR);
static_assert(weft::version.minor == WEFT_VERSION_MINOR);
static_assert(weft::version.patch == WEFT_VERSION_PATCH);
