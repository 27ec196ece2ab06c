// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: a rank has no stage to run; use chunks 1 or more
// expect: needs_a_chunk, 0, 1

#include <weft/plan/plan.hpp>

#ifdef WEFT_TWIN
inline constexpr int chunks = 1;
#else
inline constexpr int chunks = 0;
#endif

using plan = weft::plan<weft::schedule::interleaved_1f1b<chunks>, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
constexpr bool recomputes = plan::recomputes;
