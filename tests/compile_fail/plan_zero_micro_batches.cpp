// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: there is no micro-batch to run; use micro_batches 1 or more
// expect: needs_a_micro_batch, 0, 1

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
inline constexpr int count = 1;
#else
inline constexpr int count = 0;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<count>>;
constexpr bool recomputes = plan::recomputes;
