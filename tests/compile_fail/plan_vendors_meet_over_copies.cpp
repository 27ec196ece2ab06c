// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: two ranks that hold the same layers in two copies of the model, the arguments of
// expect: order the ranks such that both copies of a stage are of one vendor
// expect: copies_must_be_of_one_vendor<false, 0, 3>

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::hip, weft::vendor::hip, weft::vendor::cuda>;
#else
using vendors = weft::rank_vendors<weft::vendor::cuda, weft::vendor::cuda, weft::vendor::hip, weft::vendor::hip>;
#endif

using plan = weft::plan<weft::schedule::dual_pipe, weft::micro_batches<8>, weft::pipeline_ranks<4>, vendors>;
constexpr bool recomputes = plan::recomputes;
