// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: there is no wave to run; use waves 1 or more
// expect: needs_a_wave, 0, 1

#include <weft/plan/plan.hpp>
#include <weft/schedule/wave.hpp>

#ifdef WEFT_TWIN
inline constexpr int waves = 1;
#else
inline constexpr int waves = 0;
#endif

using plan = weft::plan<weft::schedule::wave<waves>, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
constexpr bool recomputes = plan::recomputes;
