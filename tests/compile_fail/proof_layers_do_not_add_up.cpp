// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::partition: the stages' layers do not add up to the model's; add or remove some
// expect: wrong_sum, 5, 6

#include "harness/flat_model.hpp"

#include <weft/plan/proof.hpp>

#ifdef WEFT_TWIN
using layers = weft::stage_layers<2, 0, 2, 2>;
#else
using layers = weft::stage_layers<2, 0, 2, 1>;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<8>, layers>;
constexpr std::int64_t bytes = weft::proof<plan, flat_model, flat_extents{16}>::bytes_per_rank;
