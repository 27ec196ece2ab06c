// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: each copy of the model takes half of the micro-batches; use an even number
// expect: needs_even_micro_batches, 9, 10

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::dual_pipe, weft::pipeline_ranks<4>, weft::micro_batches<10>>;
#else
using plan = weft::plan<weft::schedule::dual_pipe, weft::pipeline_ranks<4>, weft::micro_batches<9>>;
#endif
constexpr bool recomputes = plan::recomputes;
