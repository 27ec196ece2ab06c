// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Training. Needs Kokkos and a BLAS.

#include <weft/train/adamw.hpp>
#include <weft/train/asynchronous_stage.hpp>
#include <weft/train/asynchronous_state.hpp>
#include <weft/train/asynchronous_trainer.hpp>
#include <weft/train/clip_policy.hpp>
#include <weft/train/common_facts.hpp>
#include <weft/train/delayed_norm.hpp>
#include <weft/train/delayed_tied_gradient.hpp>
#include <weft/train/gradient_reduction.hpp>
#include <weft/train/hand_over.hpp>
#include <weft/train/learning_rate.hpp>
#include <weft/train/loss_scale.hpp>
#include <weft/train/measured_speeds.hpp>
#include <weft/train/norm_blocks.hpp>
#include <weft/train/replica.hpp>
#include <weft/train/replica_digest.hpp>
#include <weft/train/square_sum.hpp>
#include <weft/train/start.hpp>
#include <weft/train/state.hpp>
#include <weft/train/tied_gradients.hpp>
#include <weft/train/trainer.hpp>
#include <weft/train/trainer_options.hpp>
#include <weft/train/training_stage.hpp>
#include <weft/train/window_plan.hpp>
