// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The one configuration header: version, ABI namespace, and the compilers' modes that weft refuses.
///
/// Everything lives in `weft::v1`, an inline namespace, so that objects built against two incompatible releases do
/// not link into one program by accident.

#if defined(__cplusplus) && __cplusplus < 202002L
#error "weft: C++20 is needed; compile with -std=c++20 or later"
#endif

#if defined(__FAST_MATH__)
#error "weft: -ffast-math reorders additions, and weft promises equal bits; remove it (link weft::numerics instead)"
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

namespace weft::inline v1 {

struct version_number {
  int major;
  int minor;
  int patch;
};

inline constexpr version_number version{WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH};

}  // namespace weft::inline v1
