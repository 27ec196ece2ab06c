// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// Forwards alone, in ascending order: evaluation and generation. No NORM, no STEP, nothing kept for backward, so
/// that it cannot disturb the training it is played between.
///
///     rank 0  F0 F1 F2 F3 .. ..
///     rank 1  .. F0 F1 F2 F3 ..
///     rank 2  .. .. F0 F1 F2 F3
///
/// * peak activations: 1 micro-batch on every rank (alive during its F)
/// * idle time per rank: (p - 1) T_F; makespan: (M + p - 1) T_F
/// * moves per boundary: M activations forward
///
/// Use it beside any training schedule with the same placement (loop). No paper.
struct forward_only {
  static constexpr char const* name = "forward_only";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{true, false, 0};

  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches);
  }

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int micro_batches, Writer& put) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) put(op::forward, rank, micro_batch);
  }

  /// From the first micro-batches on, each further one is one more F on every rank.
  [[nodiscard]] static constexpr repetition repeats(int /*ranks*/, int /*micro_batches*/) { return {1, 1}; }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int /*ranks*/, int /*micro_batches*/) { return 1; }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int /*micro_batches*/, double forward, double /*backward*/) {
    return (ranks - 1) * forward;
  }
};

static_assert(forward_only::check(4, 1).legal() && !forward_only::work.backward);

}  // namespace weft::inline v1::schedule
