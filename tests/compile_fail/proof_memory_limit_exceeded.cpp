// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the plan needs more bytes per rank than its memory_limit; use more ranks
// expect: memory_limit_must_hold<false
// expect: , 0, 1024>

#include "harness/flat_model.hpp"

#include <weft/plan/proof.hpp>

#ifdef WEFT_TWIN
inline constexpr std::int64_t limit = weft::mib(1);
#else
inline constexpr std::int64_t limit = weft::kib(1);
#endif

using plan =
    weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, weft::memory_limit<limit>>;
constexpr std::int64_t bytes = weft::proof<plan, flat_model, flat_extents{16}>::bytes_per_rank;
