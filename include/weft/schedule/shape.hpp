// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

namespace weft::inline v1::schedule {

struct cost_model;

/// What some schedules take besides ranks and micro-batches, where it comes at run time; 0 stands for the schedule's
/// own default. The registry says which schedule takes what, and refuses the rest.
struct shape {
  int chunks = 0;        ///< stages per rank
  int group = 0;         ///< micro-batches that a rank runs through one chunk before it turns to the next
  int waves = 0;         ///< how often the stages go down and up the ranks
  int memory_limit = 0;  ///< activations that a rank may keep, in micro-batches of one stage
  int steps = 0;         ///< optimizer steps in one table of an asynchronous schedule
  int steps_before = 0;  ///< of an asynchronous schedule: steps before the table begins whose weights it still reads
  int const* replicas = nullptr;  ///< of a schedule with replicated stages: ranks of each stage
  int replicated_stages = 0;      ///< how many there are
  int kept_percent = 0;  ///< what I leaves of an activation until W, for schedules that count it (zero-bubble-auto)
  cost_model const* costs = nullptr;  ///< for schedules that are made to measure; null for F = I = W = 1 and no hops

  friend constexpr bool operator==(shape const&, shape const&) = default;
};

}  // namespace weft::inline v1::schedule
