// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::precision: a choice is none of weights_in, compute_in, gradients_in and wire_in; name each type

#include <weft/plan/precision.hpp>

#ifdef WEFT_TWIN
using choice = weft::compute_in<float>;
#else
using choice = float;
#endif

using wire = weft::precision<choice>::wire;
constexpr wire zero = 0;
