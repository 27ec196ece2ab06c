// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: nothing says how many micro-batches there are; add weft::micro_batches<8>, or <weft::dynamic>

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::gpipe, weft::pipeline_ranks<4>, weft::micro_batches<weft::dynamic>>;
#else
using plan = weft::plan<weft::schedule::gpipe, weft::pipeline_ranks<4>>;
#endif
constexpr bool recomputes = plan::recomputes;
