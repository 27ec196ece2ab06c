// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: the serial schedule runs on 1 rank; start 1 rank, or choose gpipe, 1f1b or zb-h1
// expect: needs_exactly_one_rank, 4, 1

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using schedule = weft::schedule::gpipe;
#else
using schedule = weft::schedule::serial;
#endif

using plan = weft::plan<weft::pipeline_ranks<4>, schedule, weft::micro_batches<8>>;
constexpr bool recomputes = plan::recomputes;
