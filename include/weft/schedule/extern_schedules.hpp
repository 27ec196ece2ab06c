// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Who names schedules at run time compiles all of them, the checker and the lowering, in every translation unit: with
/// -O3 some 13 s. The same holds, in small, for what plays, prices, reads and explains programs. A program of many may
/// define WEFT_EXTERN_SCHEDULES for all of them and let one more source file, which includes
/// <weft/schedule/source.hpp>, compile these functions once. Nothing else changes.

#if defined(WEFT_EXTERN_SCHEDULES) || defined(WEFT_SCHEDULES_SOURCE)
#define WEFT_SCHEDULES_INLINE
#else
#define WEFT_SCHEDULES_INLINE inline
#endif

/// The bodies of what is compiled once are to be seen.
#if !defined(WEFT_EXTERN_SCHEDULES) || defined(WEFT_SCHEDULES_SOURCE)
#define WEFT_DEFINES_SCHEDULES
#endif
