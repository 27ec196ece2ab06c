// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: the serial schedule runs on 1 rank; start 1 rank, or choose gpipe, one_f_one_b
// expect: needs_exactly_one_rank, 4, 1

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using schedule = weft::schedule::gpipe;
#else
using schedule = weft::schedule::serial;
#endif

using plan = weft::plan<weft::pipeline_ranks<4>, schedule, weft::micro_batches<8>>;
constexpr bool recomputes = plan::recomputes;
