// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: there is no schedule; add one, such as weft::schedule::one_f_one_b

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#else
using plan = weft::plan<weft::pipeline_ranks<4>, weft::micro_batches<8>>;
#endif
constexpr bool recomputes = plan::recomputes;
