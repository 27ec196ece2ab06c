// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: one of the policies is not one that weft knows
// expect: mesh or pipeline_ranks, micro_batches
// expect: post_validated, no_optimizer or no_tied_parameters

#include <weft/plan/plan.hpp>

struct my_policy {};

#ifdef WEFT_TWIN
using last = weft::no_optimizer;
#else
using last = my_policy;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, last>;
constexpr bool recomputes = plan::recomputes;
