// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/parameters/parameter_store.hpp>

#include <Kokkos_Core.hpp>

/// What the programs of this folder run on whatever Kokkos was built for, and the two models that they share; stages
/// and trainers are compiled in instances.cpp alone.
namespace device_checks {

using space = Kokkos::DefaultExecutionSpace;
using memory = space::memory_space;

// Heads as wide as those of models that matter, and an odd number that kernels have to pad.
using gpt2 =
    weft::model::gpt2<weft::model::gpt_size{.vocabulary = 31, .positions = 12, .width = 128, .heads = 2, .blocks = 3}>;
using llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 31, .positions = 12, .width = 80, .heads = 2, .kv_heads = 1, .hidden = 96, .blocks = 3}>;

}  // namespace device_checks

extern template class weft::model::model_stage<device_checks::gpt2, float, device_checks::space>;
extern template class weft::model::model_stage<device_checks::llama, float, device_checks::space>;
extern template class weft::model::model_stage<device_checks::gpt2, double, device_checks::space>;
extern template class weft::model::model_stage<device_checks::llama, double, device_checks::space>;
