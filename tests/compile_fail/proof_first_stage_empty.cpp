// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::partition: the first or the last stage has no layers; only stages between them may be empty

#include "harness/flat_model.hpp"

#include <weft/plan/proof.hpp>

#ifdef WEFT_TWIN
using layers = weft::stage_layers<3, 3>;
#else
using layers = weft::stage_layers<0, 6>;
#endif

using plan = weft::plan<weft::schedule::gpipe, weft::pipeline_ranks<2>, weft::micro_batches<4>, layers>;
constexpr std::int64_t bytes = weft::proof<plan, flat_model, flat_extents{16}>::bytes_per_rank;
