// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::blas {

/// How devices multiply floats: `full` in float; `tf32` by tensor cores, from factors rounded to 10 bits of mantissa
/// and with sums in float, where the device has them. Hosts multiply in float whatever is asked, and no other type
/// asks.
enum class math_mode : std::uint8_t { full, tf32 };

inline char const* to_text(math_mode mode) { return mode == math_mode::tf32 ? "tf32" : "full"; }

}  // namespace weft::inline v1::blas
