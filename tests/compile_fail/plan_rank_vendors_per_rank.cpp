// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: rank_vendors does not name every rank of the mesh; give one vendor per rank

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::hip, weft::vendor::cuda, weft::vendor::hip>;
#else
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::hip>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>,
                        weft::mesh<weft::axis<weft::data_axis, 2>, weft::axis<weft::pipeline_axis, 2>>, vendors>;
constexpr bool recomputes = plan::recomputes;
