// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: a group has no micro-batch; use 1 or more
// expect: needs_a_group, -1, 1

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::breadth_first<2, 1>, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#else
using plan = weft::plan<weft::schedule::breadth_first<2, -1>, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#endif
constexpr bool recomputes = plan::recomputes;
