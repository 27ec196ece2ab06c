// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: schedule::automatic chooses while compiling, and ranks or micro-batches are dynamic

#include <weft/plan/plan.hpp>
#include <weft/schedule/automatic.hpp>

using namespace weft;

#ifdef WEFT_TWIN
using counts = micro_batches<2>;
#else
using counts = micro_batches<dynamic>;
#endif

using automatic_plan = weft::plan<schedule::automatic<schedule::activation_limit<2>>, pipeline_ranks<2>, counts>;
constexpr bool recomputes = automatic_plan::recomputes;
