// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/asynchronous_row.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// `pipedream_2bw` with steps and a beginning that come at run time.
struct pipedream_2bw_values {
  static constexpr char const* name = "pipedream-2bw";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{.asynchronous = true, .versions = 2};
  int steps = 0;  ///< 0: as many as have p micro-batches each
  int steps_before = 0;

  [[nodiscard]] static constexpr pipedream_2bw_values of(shape const& chosen) {
    return {chosen.steps, chosen.steps_before};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    validity const found = detail::check_asynchronous(ranks, micro_batches, steps_before, oldest_read(ranks));
    if (!found.legal()) return found;
    if (steps < 0) return {rule::needs_a_step, steps, 1};
    if (steps > 0 && micro_batches % steps != 0)
      return {rule::steps_divide, micro_batches, (micro_batches + steps - 1) / steps * steps};
    if (steps > 1 && micro_batches / steps < ranks - 1)
      return {rule::steps_hold_warm_up, micro_batches, steps * (ranks - 1)};
    return {};
  }

  [[nodiscard]] constexpr work_set work_on(int /*ranks*/) const {
    work_set result = work;
    result.steps_before = steps_before;
    return result;
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    int const per_step = micro_batches / steps_of(ranks, micro_batches);
    auto const older = [&](int number) { return detail::at_least_zero(steps_before + number / per_step - 1); };
    detail::write_asynchronous_row(rank, ranks, micro_batches, per_step, older, older, put);
  }

  /// STEPs of each stage in the table.
  [[nodiscard]] constexpr int steps_of(int ranks, int micro_batches) const {
    if (steps > 0) return steps;
    for (int per_step = ranks; per_step < micro_batches; ++per_step)
      if (micro_batches % per_step == 0) return micro_batches / per_step;
    return 1;
  }

  /// How many STEPs behind the newest the oldest weights are that an action reads.
  [[nodiscard]] static constexpr int oldest_read(int /*ranks*/) { return 1; }

  /// Weights that a rank keeps.
  [[nodiscard]] static constexpr int weight_versions(int /*rank*/, int /*ranks*/) { return 2; }

  /// In micro-batches of one stage.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    return ranks - rank < micro_batches ? ranks - rank : micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops and STEPs.
  [[nodiscard]] constexpr double idle(int ranks, int /*micro_batches*/, double forward, double backward) const {
    return (ranks - 1) * (forward + backward);
  }
};

/// PipeDream-2BW: 1F1B that never drains, with gradients accumulated over n micro-batches and two versions of the
/// weights ("double-buffered"). All micro-batches of step t read the weights of STEP t - 1, on every stage, forward and
/// backward; those of step t are there when the last of them come in.
///
///     rank 0  F0 F1 B0 F2 B1 S F3 B2 F4 B3 S F5 B4 B5 S       p = 2, n = 2, S: STEP
///              0  0  0  0  0    0  0  1  0    1  1  1         weights read: STEPs made before
///     rank 1  .. F0 B0 F1 B1 S F2 B2 F3 B3 S F4 B4 F5 B5 S
///                 0  0  0  0    0  0  0  0    1  1  1  1
///
/// * W(t+1) = W(t) - lr grad(W(max(0, t - 1))): a constant staleness of one step, the same on all stages
/// * idle time per rank: (p - 1)(T_F + T_B) in all, however many steps the run has
/// * peak activations of rank r: min(p - r, M) micro-batches; weights: 2 versions
/// * moves per boundary: M activations forward, M gradients back
///
/// `Steps`: optimizer steps in the table, whose micro-batches they divide; with more than one, each has at least p - 1
/// micro-batches. `StepsBefore`: 1 for a table that continues a run.
///
/// Use it where PipeDream's versions do not fit, or its staleness is too large. Not to reproduce a serial run.
/// Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, arXiv 2006.09503.
template <int Steps, int StepsBefore = 0>
struct pipedream_2bw : fixed<pipedream_2bw_values{Steps, StepsBefore}> {};

static_assert(pipedream_2bw<3>::check(4, 24).legal() && pipedream_2bw<3>::check(4, 23).nearest == 24);
static_assert(pipedream_2bw<3>::check(4, 6).nearest == 9 && pipedream_2bw<0>::steps_of(4, 24) == 6);

}  // namespace weft::inline v1::schedule
