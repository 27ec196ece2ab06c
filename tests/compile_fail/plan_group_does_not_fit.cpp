// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: a group must have at least as many micro-batches as there are ranks
// expect: group_fits, 5, 4

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using schedule = weft::schedule::interleaved_1f1b<2, 4>;
#else
using schedule = weft::schedule::interleaved_1f1b<2, 5>;
#endif

using plan = weft::plan<schedule, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
constexpr bool recomputes = plan::recomputes;
