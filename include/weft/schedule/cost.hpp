// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/detail/clockwork.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/timing.hpp>

#include <type_traits>

namespace weft::inline v1::schedule {

namespace detail {
/// `cost` of what is not a constant, where that is compiled once.
WEFT_SCHEDULES_INLINE cost_summary cost_now(program_view const& program, cost_model const& model,
                                            timed_action* timeline, rank_time* ranks, double* waits);

constexpr cost_summary cost_here(program_view const& program, cost_model const& model, timed_action* timeline,
                                 rank_time* ranks, double* waits) {
  clockwork work(program, model);
  work.advance(timeline, waits);
  return work.summary(ranks);
}
}  // namespace detail

/// Turns a playable program into time: every action begins when its row, its messages and its output slot allow.
/// Planner, pictures, tests and the measured-against-planned report all use this one function. Does not communicate.
///
/// * A table without posts is priced as if every pass sent its results at once and receives stood ready.
/// * REDUCE_GRAD begins at its place and overlaps with what follows; NORM and STEP wait for it. NORM is a meeting of
/// all
///   ranks, unless the model says otherwise.
/// * A fused pair is one slot: both halves begin when both are ready, and end together.
///
/// `timeline` (room for every action, rows one after the other), `ranks` (one each) and `waits` (`ranks * ranks`: how
/// long each rank waited, between its first and its last pass, for each other) may be null.
constexpr cost_summary cost(program_view const& program, cost_model const& model = {}, timed_action* timeline = nullptr,
                            rank_time* ranks = nullptr, double* waits = nullptr) {
  if (!std::is_constant_evaluated()) return detail::cost_now(program, model, timeline, ranks, waits);
  return detail::cost_here(program, model, timeline, ranks, waits);
}

#if defined(WEFT_DEFINES_SCHEDULES)
namespace detail {
WEFT_SCHEDULES_INLINE cost_summary cost_now(program_view const& program, cost_model const& model,
                                            timed_action* timeline, rank_time* ranks, double* waits) {
  return cost_here(program, model, timeline, ranks, waits);
}
}  // namespace detail
#endif

/// The same, keeping the timeline.
struct timeline {
  cost_summary summary;
  weft::detail::buffer<timed_action> actions;
  weft::detail::buffer<rank_time> ranks;
};

constexpr timeline make_timeline(program_view const& program, cost_model const& model = {}) {
  int total = 0;
  for (int rank = 0; rank < program.ranks(); ++rank) total += program.row(rank).size;
  timeline result;
  result.actions = weft::detail::buffer<timed_action>(total);
  result.ranks = weft::detail::buffer<rank_time>(program.ranks());
  result.summary = cost(program, model, result.actions.data(), result.ranks.data());
  return result;
}

}  // namespace weft::inline v1::schedule
