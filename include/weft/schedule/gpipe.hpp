// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// All forwards, then all backwards, both in ascending order (also called "all forward, all backward", AFAB).
///
///     rank 0  F0 F1 F2 F3 .. .. .. .. B0 B1 B2 B3       p = 2, M = 4, B twice as long as F:
///     rank 1  .. F0 F1 F2 F3 B0 B1 B2 B3 .. .. ..       rank 0 waits (p - 1)(T_F + T_B)
///
/// * peak activations: M micro-batches on every rank
/// * idle time per rank: (p - 1)(T_F + T_B); makespan: (M + p - 1)(T_F + T_B)
/// * moves per boundary: M activations forward, M gradients back
///
/// Use it when memory is no concern, with recompute, or to see whether a fault is in 1F1B. Not for many micro-batches:
/// 1F1B has the same idle time and keeps at most p of them.
/// Huang et al., GPipe, arXiv 1811.06965 (which draws the backward descending; both orders are legal, and ascending is
/// the one whose gradients equal the serial run's).
struct gpipe {
  static constexpr char const* name = "gpipe";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches, M < ranks too.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches);
  }

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int micro_batches, Writer& put) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) put(op::forward, rank, micro_batch);
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) put(op::backward, rank, micro_batch);
  }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int /*ranks*/, int micro_batches) {
    return micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int /*micro_batches*/, double forward, double backward) {
    return (ranks - 1) * (forward + backward);
  }
};

static_assert(gpipe::check(4, 1).legal() && gpipe::check(4, 0).nearest == 1);
static_assert(gpipe::peak_activations(0, 4, 8) == 8);

}  // namespace weft::inline v1::schedule
