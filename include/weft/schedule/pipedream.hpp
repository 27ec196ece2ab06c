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

#include <type_traits>

namespace weft::inline v1::schedule {

// Which weights a minibatch reads in PipeDream. On rank r of p, w = p - 1 - r:

/// Backward reads the weights that its forward read: W(k+1) = W(k) - lr grad(W(max(0, k - w))) on each stage, which
/// keeps w + 1 versions. A minibatch meets newer weights on later stages.
struct weight_stash {
  static constexpr char const* name = "pipedream";
};

/// All stages read the weights that the minibatch met on the first: W(k+1) = W(k) - lr grad(W(max(0, k - (p - 1)))),
/// one gradient of one model. Every stage keeps p versions.
struct vertical_sync {
  static constexpr char const* name = "pipedream-vertical-sync";
};

/// Backward reads the newest weights, whatever its forward read: what comes out is not the gradient of anything, and
/// training may diverge. To compare with. One version within a table; w + 1 where a run is cut into several.
struct no_stash {
  static constexpr char const* name = "pipedream-no-stash";
};

/// `pipedream` with a beginning that comes at run time.
template <class Reading = weight_stash>
struct pipedream_values {
  static constexpr char const* name = Reading::name;
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{.asynchronous = true, .stashes_weights = !std::is_same_v<Reading, no_stash>};
  int steps_before = 0;

  [[nodiscard]] static constexpr pipedream_values of(shape const& chosen) { return {chosen.steps_before}; }

  /// Any number of minibatches, and at most 255 ranks.
  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    return detail::check_asynchronous(ranks, micro_batches, steps_before, oldest_read(ranks));
  }

  [[nodiscard]] constexpr work_set work_on(int ranks) const {
    work_set result = work;
    result.versions = std::is_same_v<Reading, vertical_sync> ? ranks : 1;
    result.steps_before = steps_before;
    return result;
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    int const late = std::is_same_v<Reading, vertical_sync> ? ranks - 1 : ranks - 1 - rank;
    auto const met = [&](int minibatch) { return detail::at_least_zero(steps_before + minibatch - late); };
    auto const newest = [&](int minibatch) { return steps_before + minibatch; };
    if constexpr (std::is_same_v<Reading, no_stash>)
      detail::write_asynchronous_row(rank, ranks, micro_batches, 1, met, newest, put);
    else
      detail::write_asynchronous_row(rank, ranks, micro_batches, 1, met, met, put);
  }

  /// One for each minibatch.
  [[nodiscard]] static constexpr int steps_of(int /*ranks*/, int micro_batches) { return micro_batches; }

  /// How many STEPs behind the newest the oldest weights are that an action reads.
  [[nodiscard]] static constexpr int oldest_read(int ranks) { return ranks - 1; }

  /// Weights that a rank keeps in a run of several tables: none is read that is older than that many STEPs less one.
  [[nodiscard]] static constexpr int weight_versions(int rank, int ranks) {
    return std::is_same_v<Reading, vertical_sync> ? ranks : ranks - rank;
  }

  /// In minibatches of one stage.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    return ranks - rank < micro_batches ? ranks - rank : micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops and STEPs.
  [[nodiscard]] constexpr double idle(int ranks, int /*micro_batches*/, double forward, double backward) const {
    return (ranks - 1) * (forward + backward);
  }
};

/// PipeDream: 1F1B that never drains. Every minibatch (a micro-batch of the table) is an optimizer step of each stage,
/// right behind its backward, while later minibatches are on their way; each stage therefore reads weights that are as
/// many steps old as there are ranks behind it.
///
///     rank 0  F0 F1 F2 F3 B0 S F4 B1 S F5 B2 S F6 B3 S F7 B4 S ...       p = 4, S: STEP
///              0  0  0  0  0    1  0    2  0    3  0    4  1             weights read (weight_stash): STEPs made
///              before
///     rank 3  .. .. .. F0 B0 S F1 B1 S F2 B2 S F3 B3 S F4 B4 S ...
///                       0  0    1  1    2  2    3  3    4  4
///
/// * idle time per rank: (p - 1)(T_F + T_B) in all, however many steps the run has
/// * peak activations of rank r: min(p - r, M) minibatches
/// * weights: p - r versions on rank r (weight_stash), p on every rank (vertical_sync)
/// * staleness: a gradient is added to weights p - 1 - r STEPs newer than those it was computed with (vertical_sync:
/// p - 1)
/// * moves per boundary: M activations forward, M gradients back
///
/// `StepsBefore`: a table that continues a run, after that many steps (at most p - 1: it reads no older weights).
///
/// Use it where the pipeline must never drain and training stands old gradients. Not to reproduce a serial run: it is
/// another method, whose learning rate must be chosen for it. Narayanan et al., PipeDream, SOSP 2019, arXiv 1806.03377.
template <class Reading = weight_stash, int StepsBefore = 0>
struct pipedream : fixed<pipedream_values<Reading>{StepsBefore}> {};

static_assert(pipedream<>::check(4, 1).legal() && pipedream<>::check(256, 1).nearest == 255);
static_assert(pipedream<>::weight_versions(1, 4) == 3 && pipedream<vertical_sync>::weight_versions(1, 4) == 4);

}  // namespace weft::inline v1::schedule
