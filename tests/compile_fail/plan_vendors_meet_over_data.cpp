// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: two ranks that hold the same layers, the arguments of
// expect: give every pipeline the same vendors in the same places, or add allow_mixed<data_axis>
// expect: vendors_must_meet_along_the_pipeline<false, 0, 2>

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::hip, weft::vendor::cuda, weft::vendor::hip>;
#else
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::cuda, weft::vendor::hip, weft::vendor::hip>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>,
                        weft::mesh<weft::axis<weft::data_axis, 2>, weft::axis<weft::pipeline_axis, 2>>, vendors>;
constexpr bool recomputes = plan::recomputes;
