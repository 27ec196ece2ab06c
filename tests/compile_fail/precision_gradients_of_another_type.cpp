// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::precision: gradients are added up in the type of the weights, and another one is named; leave

#include <weft/plan/precision.hpp>

#ifdef WEFT_TWIN
using gradients = weft::gradients_in<float>;
#else
using gradients = weft::gradients_in<double>;
#endif

using wire = weft::precision<weft::weights_in<float>, gradients>::wire;
constexpr wire zero = 0;
