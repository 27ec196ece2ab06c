// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::proof: ranks or micro-batches are dynamic; call weft::check_memory when the program starts

#include "harness/flat_model.hpp"

#include <weft/plan/proof.hpp>

#ifdef WEFT_TWIN
inline constexpr int ranks = 4;
#else
inline constexpr int ranks = weft::dynamic;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<ranks>, weft::micro_batches<8>>;
constexpr std::int64_t bytes = weft::proof<plan, flat_model, flat_extents{16}>::bytes_per_rank;
