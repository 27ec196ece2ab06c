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

/// One forward, one backward: after a warm-up of p - r - 1 forwards, rank r alternates, so that no rank keeps more
/// micro-batches than there are ranks behind it.
///
///     rank 0  F0 F1 F2 F3             B0 F4 B1 F5 B2    B3    B4    B5       p = 4, M = 6
///     rank 1     F0 F1 F2       B0 F3 B1 F4 B2 F5 B3    B4    B5
///     rank 2        F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4    B5
///     rank 3           F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
///
/// * peak activations of rank r: min(p - r, M) micro-batches
/// * idle time per rank: (p - 1)(T_F + T_B); makespan: (M + p - 1)(T_F + T_B), as GPipe's
/// * moves per boundary: M activations forward, M gradients back
/// * a hop costs it more than GPipe: in steady state it pays a round trip every p micro-batches
///
/// Use it as the default. Not where stages are short against the hop time (interleaving and zero-bubble schedules
/// hide more).
/// Narayanan et al., PipeDream-flush, arXiv 2006.09503; Fan et al., DAPPLE, arXiv 2007.01045.
struct one_f_one_b {
  static constexpr char const* name = "1f1b";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches: with M < ranks the warm-up is cut at M, and it becomes GPipe.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches);
  }

  /// Forwards of rank `rank` before its first pair.
  [[nodiscard]] static constexpr int warm_up(int rank, int ranks, int micro_batches) {
    int const wanted = ranks - rank - 1;
    return wanted < micro_batches ? wanted : micro_batches;
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const warm = warm_up(rank, ranks, micro_batches);
    for (int micro_batch = 0; micro_batch < warm; ++micro_batch) put(op::forward, rank, micro_batch);
    for (int pair = 0; pair < micro_batches - warm; ++pair) {
      put(op::forward, rank, warm + pair);
      put(op::backward, rank, pair);
    }
    for (int micro_batch = micro_batches - warm; micro_batch < micro_batches; ++micro_batch)
      put(op::backward, rank, micro_batch);
  }

  /// From p - 1 micro-batches on, each further one is one more pair F, B on every rank.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) {
    return {ranks > 1 ? ranks - 1 : 1, 1};
  }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    return ranks - rank < micro_batches ? ranks - rank : micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int /*micro_batches*/, double forward, double backward) {
    return (ranks - 1) * (forward + backward);
  }
};

static_assert(one_f_one_b::check(4, 2).legal() && one_f_one_b::check(4, 0).nearest == 1);
static_assert(one_f_one_b::warm_up(0, 4, 2) == 2 && one_f_one_b::peak_activations(0, 4, 8) == 4);

}  // namespace weft::inline v1::schedule
