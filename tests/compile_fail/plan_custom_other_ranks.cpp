// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: a table of one's own has one line per rank; use as many ranks
// expect: needs_the_tables_ranks, 3, 2

#include <weft/plan/plan.hpp>
#include <weft/schedule/custom.hpp>

using order = weft::schedule::custom<"0F0,0B0\n1F0,1B0\n">;
#ifdef WEFT_TWIN
using plan = weft::plan<order, weft::pipeline_ranks<2>, weft::micro_batches<1>>;
#else
using plan = weft::plan<order, weft::pipeline_ranks<3>, weft::micro_batches<1>>;
#endif
constexpr bool recomputes = plan::recomputes;
