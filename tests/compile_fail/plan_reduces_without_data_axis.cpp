// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: reduce_gradients says how data ranks sum their gradients, and the mesh has no data axis
// expect: leave reduce_gradients out

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
using mesh = weft::mesh<weft::axis<weft::pipeline_axis, 2>, weft::axis<weft::data_axis, 1>>;
#else
using mesh = weft::pipeline_ranks<2>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>, mesh,
                        weft::reduce_gradients<weft::collective::recursive_doubling>>;
constexpr bool recomputes = plan::recomputes;
