// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "windows.hpp"

#include "schedule_table.hpp"

namespace mini_llm {

bool is_asynchronous(options const& chosen) {
  return chosen.table.empty() && weft::train::is_window_plan(chosen.schedule);
}

weft::train::window_plan windows_of(options const& chosen, int ranks) {
  auto plan = weft::train::windows_of(chosen.schedule, ranks, chosen.micro_batches);
  plan.lowering.recompute = chosen.recompute == recompute_kind::full;
  plan.lowering.receives = receives_of(chosen);
  return plan;
}

int window_steps(options const& chosen, std::int64_t step) {
  std::int64_t end = std::min(chosen.steps, step + chosen.window);
  for (std::int64_t const every : {std::int64_t{chosen.eval_every}, std::int64_t{chosen.save_every}})
    if (every > 0) end = std::min(end, (step / every + 1) * every);
  return static_cast<int>(end - step);
}

}  // namespace mini_llm
