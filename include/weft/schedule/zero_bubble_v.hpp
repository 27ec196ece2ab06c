// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// Two stages per rank, there and back (rank r holds stages r and 2 p - 1 - r), and the backward in two halves: a
/// micro-batch turns round at the last rank, so that gradients come back soon, and in steady state no rank waits.
///
///     rank 0  0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3 ...
///     rank 1  ... 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3
///
/// (p = 2, M = 4: stage, pass, micro-batch)
///
/// * peak activations of rank r: min(2 p, M + 1 + r, 2 M), in micro-batches of one stage: as much as 1F1B's first rank,
/// on
///   every rank
/// * with equal durations T: idle time per rank max(p - 1, 4 p - 2 - 2 M) T, and with M >= 2 p - 1 every rank is done 6
/// M T
///   after its beginning; with other durations there is no closed form (`idle` plays the table)
/// * moves M activations and M gradients over each of 2 p - 2 boundaries; the one at the turn stays on its rank
///
/// Use it where F, I and W take about equally long; first and last stage share a rank, and so tied embeddings need no
/// messages. Not where they differ much (zero_bubble_auto fits the order to the durations), nor for short M.
/// Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362 (ZB-V; I is B there).
struct zero_bubble_v {
  static constexpr char const* name = "zb-v";
  using placement = topology::placement::v;
  static constexpr int chunks = 2;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches: with M < 2 p - 1 the order for 2 p - 1 is written without the rest.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches, chunks);
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const all = micro_batches < 2 * ranks - 1 ? 2 * ranks - 1 : micro_batches;
    int forwards[2] = {};
    int inputs[2] = {};
    int weights[2] = {};
    auto const pass = [&](op what, int chunk, int(&next)[2]) {
      int const item = next[chunk]++;
      if (item < micro_batches) put(what, chunk == 0 ? rank : 2 * ranks - 1 - rank, item);
    };
    auto const forward = [&](int chunk) { pass(op::forward, chunk, forwards); };
    auto const input = [&](int chunk) { pass(op::backward_input, chunk, inputs); };
    auto const weight = [&](int chunk) { pass(op::backward_weight, chunk, weights); };
    auto const both = [&](int chunk) {
      input(chunk);
      weight(chunk);
    };

    for (int turn = 0; turn < 2 * (ranks - rank) - 1; ++turn) forward(0);
    for (int turn = 0; turn < rank; ++turn) {
      forward(1);
      forward(0);
    }
    for (int turn = 0; turn < ranks - rank; ++turn) {
      forward(1);
      both(1);
    }
    while (forwards[1] < all) {
      if (forwards[0] < all) forward(0);
      both(0);
      forward(1);
      both(1);
    }
    for (int turn = 0; turn < rank; ++turn) {
      input(0);
      input(1);
    }
    for (int turn = 0; turn < ranks - rank; ++turn) both(0);
    while (weights[1] < all) weight(1);
    while (weights[0] < all) weight(0);
  }

  /// From 2 p - 1 micro-batches on, each further one is one more F, I, W of both stages on every rank.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) { return {2 * ranks - 1, 1}; }

  /// In micro-batches of one stage, over both chunks of the rank.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    int const most = 2 * (ranks < micro_batches ? ranks : micro_batches);
    return micro_batches + 1 + rank < most ? micro_batches + 1 + rank : most;
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    if (forward != input || input != weight)
      return detail::played_idle(zero_bubble_v{}, ranks, micro_batches, forward, input, weight);
    int const short_by = 4 * ranks - 2 - 2 * micro_batches;
    return (short_by > ranks - 1 ? short_by : ranks - 1) * forward;
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(zero_bubble_v::check(4, 2).legal() && zero_bubble_v::check(4, 0).nearest == 1);
static_assert(zero_bubble_v::peak_activations(0, 4, 8) == 8 && zero_bubble_v::idle(4, 8, 1.0, 1.0, 1.0) == 3.0);

}  // namespace weft::inline v1::schedule
