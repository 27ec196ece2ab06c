// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: allow_mixed names an axis that the mesh does not have

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using ranks = weft::mesh<weft::axis<weft::data_axis, 2>, weft::axis<weft::pipeline_axis, 2>>;
#else
using ranks = weft::pipeline_ranks<2>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>, ranks, weft::allow_mixed<weft::data_axis>>;
constexpr bool recomputes = plan::recomputes;
