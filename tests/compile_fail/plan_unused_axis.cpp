// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the mesh has more than one rank along an axis that no policy of the plan uses; give that axis 1
// rank

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
inline constexpr int wide = 1;
#else
inline constexpr int wide = 2;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>,
                        weft::mesh<weft::axis<weft::pipeline_axis, 2>, weft::axis<weft::tensor_axis, wide>>>;
constexpr bool recomputes = plan::recomputes;
