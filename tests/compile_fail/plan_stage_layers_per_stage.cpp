// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: stage_layers does not name every stage; give one number per stage

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using layers = weft::stage_layers<2, 2, 2, 2>;
#else
using layers = weft::stage_layers<4, 4>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, layers>;
constexpr bool recomputes = plan::recomputes;
