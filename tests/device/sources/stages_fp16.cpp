// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stages that compute in the other 16-bit type, with messages of yet another one.
#include <weft/execution/reduced.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/model_stage.hpp>

namespace {
using numbers =
    weft::precision<weft::weights_in<float>, weft::compute_in<weft::float16>, weft::wire_in<weft::bfloat16>>;
}

template class weft::model::model_stage<weft::model::gpt2<weft::model::nano>, numbers, Kokkos::DefaultExecutionSpace>;
