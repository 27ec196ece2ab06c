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

inline bool is_asynchronous(options const& chosen) {
  return chosen.table.empty() && weft::train::is_window_plan(chosen.schedule);
}

inline weft::train::window_plan windows_of(options const& chosen, int ranks) {
  auto plan = weft::train::windows_of(chosen.schedule, ranks, chosen.micro_batches);
  plan.lowering.recompute = chosen.recompute == recompute_kind::full;
  return plan;
}

/// Steps of the window that begins after `step` steps: at most --window, and no further than the next validation,
/// checkpoint or the end.
inline int window_steps(options const& chosen, std::int64_t step) {
  std::int64_t end = std::min(chosen.steps, step + chosen.window);
  for (std::int64_t const every : {std::int64_t{chosen.eval_every}, std::int64_t{chosen.save_every}})
    if (every > 0) end = std::min(end, (step / every + 1) * every);
  return static_cast<int>(end - step);
}

}  // namespace mini_llm
