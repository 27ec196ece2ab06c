// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: there are two schedules; keep one

#include <weft/plan/plan.hpp>

template <class... Others>
using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, Others...>;
#ifdef WEFT_TWIN
constexpr bool recomputes = plan<weft::schedule::recompute::full>::recomputes;
#else
constexpr bool recomputes = plan<weft::schedule::gpipe>::recomputes;
#endif
