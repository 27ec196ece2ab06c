// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <weft/train/window_plan.hpp>

#include <algorithm>
#include <cstdint>

/// @file
/// Asynchronous schedules, as mini_llm runs them: window after window, each up to the next event at which the ranks
/// must meet. Where windows end changes no bit. Nothing here communicates.

namespace mini_llm {

bool is_asynchronous(options const& chosen);

weft::train::window_plan windows_of(options const& chosen, int ranks);

/// Steps of the window that begins after `step` steps: at most --window, and no further than the next validation,
/// checkpoint or the end.
int window_steps(options const& chosen, std::int64_t step);

}  // namespace mini_llm
