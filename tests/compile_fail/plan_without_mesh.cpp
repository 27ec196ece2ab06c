// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: there is no mesh; add one, such as weft::pipeline_ranks<4>

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using plan = weft::plan<weft::schedule::gpipe, weft::pipeline_ranks<weft::dynamic>, weft::micro_batches<weft::dynamic>>;
#else
using plan = weft::plan<weft::schedule::gpipe>;
#endif
constexpr bool recomputes = plan::recomputes;
