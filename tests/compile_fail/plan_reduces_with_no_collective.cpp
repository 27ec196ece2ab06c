// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: reduce_gradients names no collective policy; use one such as weft::collective::ring

#include <weft/plan/plan.hpp>

struct hopeful {
  static constexpr char const* name = "hopeful";
};

#ifdef WEFT_TWIN
using policy = weft::collective::recursive_doubling;
#else
using policy = hopeful;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>, weft::reduce_gradients<policy>,
                        weft::mesh<weft::axis<weft::pipeline_axis, 2>, weft::axis<weft::data_axis, 2>>>;
constexpr bool recomputes = plan::recomputes;
