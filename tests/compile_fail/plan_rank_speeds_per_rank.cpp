// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: rank_speeds does not name every pipeline rank; give one number per rank

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using speeds = weft::rank_speeds<4, 4, 3, 3>;
#else
using speeds = weft::rank_speeds<4, 3>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, speeds>;
constexpr bool recomputes = plan::recomputes;
