// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: rank_vendors names every rank, and an axis of the mesh is dynamic
// expect: leave rank_vendors out: the ranks' cards are compared when the job starts

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
inline constexpr int replicas = 1;
#else
inline constexpr int replicas = weft::dynamic;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>,
                        weft::mesh<weft::axis<weft::data_axis, replicas>, weft::axis<weft::pipeline_axis, 2>>,
                        weft::rank_vendors<weft::vendor::cuda, weft::vendor::hip>>;
constexpr bool recomputes = plan::recomputes;
