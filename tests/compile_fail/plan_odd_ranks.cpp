// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: two copies of the model enter at opposite ends and meet in the middle; use an even number
// expect: needs_even_ranks, 3, 4

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::chimera, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#else
using plan = weft::plan<weft::schedule::chimera, weft::pipeline_ranks<3>, weft::micro_batches<8>>;
#endif
constexpr bool recomputes = plan::recomputes;
