// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// For one source file of a program whose others define WEFT_EXTERN_SCHEDULES; include nothing of weft before it. See
/// schedule/extern_schedules.hpp.

#if defined(WEFT_SCHEDULES_INLINE)
#error "weft: <weft/schedule/source.hpp> must be the first header of weft in its source file"
#endif
#define WEFT_SCHEDULES_SOURCE

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>
