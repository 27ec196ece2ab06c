// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stages that compute in 16 bits, of the models that are trained so: heads of 64 and of 128, and heads too wide for
// fused attention.
#include <weft/execution/reduced.hpp>
#include <weft/model/causal_attention.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/model_stage.hpp>

namespace {
using space = Kokkos::DefaultExecutionSpace;
using gpt2 = weft::model::gpt2<weft::model::gpt2_124m>;
using llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 1000, .positions = 256, .width = 512, .heads = 4, .kv_heads = 2, .hidden = 1376, .blocks = 2}>;
}  // namespace

template class weft::model::model_stage<gpt2, weft::bf16_mixed, space>;
template class weft::model::model_stage<llama, weft::bf16_mixed, space>;

using bf16 = weft::bfloat16;
using context_type = weft::model::layer_context<bf16, Kokkos::DefaultExecutionSpace>;
using wide_heads = weft::model::causal_attention<weft::model::attention_shape{2, 1, 512}>;
static_assert(!wide_heads::is_fused<bf16, Kokkos::DefaultExecutionSpace>);
template void wide_heads::forward(context_type const&, bf16 const*, bf16*, float*, int);
template void wide_heads::backward(context_type const&, bf16 const*, bf16 const*, float const*, bf16 const*, bf16*,
                                   int);
