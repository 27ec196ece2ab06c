// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>

namespace weft::inline v1::schedule {

/// One action on the time axis. Both halves of a fused pair have the times of the pair.
struct timed_action {
  action what;
  int rank = 0;
  double begin = 0.0;
  double end = 0.0;
};

/// One rank's part of the time.
struct rank_time {
  double busy = 0.0;        ///< sum of durations of passes, NORM and STEP
  double first = 0.0;       ///< begin of the first pass
  double last = 0.0;        ///< end of the last action
  double passes_end = 0.0;  ///< end of the last pass
  double waited = 0.0;      ///< between its first and its last pass: for messages, and for output slots
  double messages = 0.0;    ///< spent by the rank itself on messages
  bool has_pass = false;

  /// From its first pass to the end of its last: what the zero-bubble paper counts, without the optimizer.
  [[nodiscard]] constexpr double span() const { return passes_end - first; }
};

/// The plan's time. `complete` is false for a program that cannot be played (ask `play` why).
struct cost_summary {
  bool complete = false;
  double makespan = 0.0;      ///< from 0 to the last end on any rank
  double busiest = 0.0;       ///< most busy time of a rank
  double idle_most = 0.0;     ///< most idle time of a rank against the makespan
  double idle_total = 0.0;    ///< over all ranks
  double longest_span = 0.0;  ///< of a rank; see `rank_time::span`

  /// Idle time of all ranks over makespan * ranks: 0 is ideal. (Megatron's paper divides by the useful time instead.)
  [[nodiscard]] constexpr double idle_share(int ranks) const {
    return makespan > 0.0 ? idle_total / (makespan * ranks) : 0.0;
  }
};

}  // namespace weft::inline v1::schedule
