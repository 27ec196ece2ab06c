// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::precision: one kind of numbers has two types; name each kind once

#include <weft/plan/precision.hpp>

#ifdef WEFT_TWIN
using second = weft::wire_in<float>;
#else
using second = weft::compute_in<double>;
#endif

using wire = weft::precision<weft::compute_in<float>, second>::wire;
constexpr wire zero = 0;
