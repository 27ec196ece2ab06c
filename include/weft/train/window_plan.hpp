// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/schedule/oldest_read.hpp>
#include <weft/schedule/pipedream.hpp>
#include <weft/schedule/pipedream_2bw.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/write_table.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::inline v1::train {

/// How an asynchronous run is cut into programs. A *window* is a program of some steps: inside it nothing drains;
/// between windows the ranks meet, and nothing else changes, since weights that later windows still read are kept. The
/// weights after every step are the same bits whatever the windows.
struct window_plan {
  std::string name;
  int ranks = 1;
  int micro_batches = 1;  ///< of one step
  int oldest_read = 0;    ///< how many STEPs older than the newest the oldest weights are that are read

  /// The table of a window of `steps` steps, after `steps_before` (<= oldest_read) whose weights it may still read. One
  /// STEP of each stage behind the backwards of `micro_batches` micro-batches, in order; one stage per rank.
  std::function<schedule::program(int steps_before, int steps)> table;

  schedule::lower_options lowering{};  ///< recompute and the like

  /// STEPs between the gradient of a step and those numbers about it that come from other ranks: so many that the row
  /// of every rank is past it, and nobody waits for a rank that is behind. The first rank's forward of a step stands
  /// behind its STEP of that many steps before.
  [[nodiscard]] int delay() const { return (std::max)(1, (ranks + micro_batches - 1) / micro_batches); }

  /// Weights that the rank of each stage keeps.
  [[nodiscard]] std::vector<int> weight_versions() const {
    schedule::program const late = table(oldest_read, 2 * oldest_read + 2);
    std::vector<int> kept;
    for (int stage = 0; stage < late.view().stages(); ++stage)
      kept.push_back((std::max)(2, schedule::oldest_read(late.view(), stage) + 1));
    return kept;
  }
};

/// PipeDream: a minibatch is a step. `Reading`: see schedule/pipedream.hpp.
template <class Reading = schedule::weight_stash>
window_plan pipedream_windows(int ranks) {
  using policy = schedule::pipedream_values<Reading>;
  return {policy::name, ranks, 1, policy::oldest_read(ranks), [ranks](int steps_before, int steps) {
            return schedule::write_table(ranks, steps, policy{.steps_before = steps_before});
          }};
}

/// PipeDream-2BW: `micro_batches` for each step.
inline window_plan pipedream_2bw_windows(int ranks, int micro_batches) {
  using policy = schedule::pipedream_2bw_values;
  return {policy::name, ranks, micro_batches, policy::oldest_read(ranks),
          [ranks, micro_batches](int steps_before, int steps) {
            return schedule::write_table(ranks, steps * micro_batches,
                                         policy{.steps = steps, .steps_before = steps_before});
          }};
}

/// Those that there are, as command lines name them.
inline constexpr char const* window_plan_names[] = {schedule::weight_stash::name, schedule::vertical_sync::name,
                                                    schedule::no_stash::name, schedule::pipedream_2bw_values::name};

[[nodiscard]] inline bool is_window_plan(std::string_view name) {
  return std::find(std::begin(window_plan_names), std::end(window_plan_names), name) != std::end(window_plan_names);
}

/// By name. Throws `error` for another name, and where PipeDream is to have more than one micro-batch per step.
inline window_plan windows_of(std::string_view name, int ranks, int micro_batches) {
  if (name == schedule::pipedream_2bw_values::name) return pipedream_2bw_windows(ranks, micro_batches);
  if (is_window_plan(name) && micro_batches != 1)
    throw error("weft::train: " + std::string(name) + " steps after every micro-batch, and " +
                std::to_string(micro_batches) + " micro-batches per step are asked for; use 1, or pipedream-2bw");
  if (name == schedule::weight_stash::name) return pipedream_windows<schedule::weight_stash>(ranks);
  if (name == schedule::vertical_sync::name) return pipedream_windows<schedule::vertical_sync>(ranks);
  if (name == schedule::no_stash::name) return pipedream_windows<schedule::no_stash>(ranks);
  throw error("weft::train: \"" + std::string(name) +
              "\" is no asynchronous schedule; choose pipedream, pipedream-vertical-sync, pipedream-no-stash or "
              "pipedream-2bw");
}

}  // namespace weft::inline v1::train
