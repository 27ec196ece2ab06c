// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: both directions must be filled; use micro_batches 2 or more for each rank
// expect: micro_batches_per_rank, 5, 8

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::dual_pipe_v, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#else
using plan = weft::plan<weft::schedule::dual_pipe_v, weft::pipeline_ranks<4>, weft::micro_batches<5>>;
#endif
constexpr bool recomputes = plan::recomputes;
