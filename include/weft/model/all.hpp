// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Layers and models of the examples. Needs Kokkos and a BLAS.

#include <weft/model/arena.hpp>
#include <weft/model/attention.hpp>
#include <weft/model/attention_shape.hpp>
#include <weft/model/attention_team.hpp>
#include <weft/model/block.hpp>
#include <weft/model/call_key.hpp>
#include <weft/model/call_sheets.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/causal_attention.hpp>
#include <weft/model/chain.hpp>
#include <weft/model/cross_entropy.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/embedding.hpp>
#include <weft/model/embedding_scatter.hpp>
#include <weft/model/fused_attention.hpp>
#include <weft/model/gelu.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/gpt_size.hpp>
#include <weft/model/head.hpp>
#include <weft/model/head_logits.hpp>
#include <weft/model/lanes.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/layer_norm.hpp>
#include <weft/model/linear.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/llama_block.hpp>
#include <weft/model/llama_embedding.hpp>
#include <weft/model/llama_head.hpp>
#include <weft/model/llama_size.hpp>
#include <weft/model/loss_sums.hpp>
#include <weft/model/mlp.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/model/program_batches.hpp>
#include <weft/model/program_sheets.hpp>
#include <weft/model/projection.hpp>
#include <weft/model/rank_buffers.hpp>
#include <weft/model/repeat.hpp>
#include <weft/model/replayed_calls.hpp>
#include <weft/model/rms_norm.hpp>
#include <weft/model/rotary.hpp>
#include <weft/model/sized_chain.hpp>
#include <weft/model/slot_buffer.hpp>
#include <weft/model/stage_crossing.hpp>
#include <weft/model/stage_layout.hpp>
#include <weft/model/swiglu.hpp>
#include <weft/model/token_batch.hpp>
