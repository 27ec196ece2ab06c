// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Every pass over a table: a program in, another one out.

#include <weft/schedule/passes/assign_slots.hpp>
#include <weft/schedule/passes/defer_receives.hpp>
#include <weft/schedule/passes/edge_rounds.hpp>
#include <weft/schedule/passes/hoist_receives.hpp>
#include <weft/schedule/passes/insert_posts.hpp>
#include <weft/schedule/passes/merge_backward.hpp>
#include <weft/schedule/passes/post_between.hpp>
#include <weft/schedule/passes/post_validate.hpp>
#include <weft/schedule/passes/reduce_gradients.hpp>
#include <weft/schedule/passes/unshard_windows.hpp>
