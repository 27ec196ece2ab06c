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

/// 1F1B with twice the warm-up: 2 (p - r - 1) forwards before rank r's first pair, so that in steady state a message
/// has the time of one pass to arrive before it is missed.
///
///     rank 0  F0 F1 F2 F3 F4 B0 F5 B1 .. B2 .. B3 .. B4 .. B5       p = 3, M = 6
///     rank 1  .. F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 .. B4 .. B5
///     rank 2  .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
///
/// * peak activations of rank r: min(2 (p - r) - 1, M) micro-batches
/// * idle time per rank: (p - 1)(T_F + T_B), as 1F1B's
/// * moves per boundary: M activations forward, M gradients back
/// * hops of T_c <= T_F are hidden: they cost 2 (p - 1) T_c in all, where 1F1B pays a round trip every p micro-batches
///
/// Use it where the hop time is felt and the first ranks have memory for twice 1F1B's activations. Not with fast links.
/// Zhuang et al., On Optimizing the Communication of Model Parallelism, arXiv 2211.05322.
struct eager_1f1b {
  static constexpr char const* name = "eager-1f1b";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches: with few micro-batches the warm-up is cut at M.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches);
  }

  /// Forwards of rank `rank` before its first pair.
  [[nodiscard]] static constexpr int warm_up(int rank, int ranks, int micro_batches) {
    int const wanted = 2 * (ranks - rank - 1);
    return wanted < micro_batches ? wanted : micro_batches;
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const warm = warm_up(rank, ranks, micro_batches);
    for (int turn = 0; turn < micro_batches + warm; ++turn) {
      if (turn < micro_batches) put(op::forward, rank, turn);
      if (turn >= warm) put(op::backward, rank, turn - warm);
    }
  }

  /// From 2 (p - 1) micro-batches on, each further one is one more pair F, B on every rank.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) {
    return {ranks > 1 ? 2 * (ranks - 1) : 1, 1};
  }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    int const kept = 2 * (ranks - rank) - 1;
    return kept < micro_batches ? kept : micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int /*micro_batches*/, double forward, double backward) {
    return (ranks - 1) * (forward + backward);
  }
};

static_assert(eager_1f1b::check(4, 2).legal() && eager_1f1b::check(4, 0).nearest == 1);
static_assert(eager_1f1b::warm_up(0, 4, 5) == 5 && eager_1f1b::peak_activations(0, 4, 8) == 7);

}  // namespace weft::inline v1::schedule
