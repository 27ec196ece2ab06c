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

/// ZB-H1 with twice the warm-up: enough forwards are in flight that no rank waits between its first and its last pass.
/// Rank r starts with W after 2 r more pairs, or where it has no forward left; what is left runs at the end.
///
///     rank 0  F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 .. ..       p = 3, M = 6
///     rank 1  .. F0 F1 F2 I0 F3 I1 F4 I2 W0 F5 I3 W1 I4 W2 I5 W3 W4 W5 ..
///     rank 2  .. .. F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5
///
/// * peak activations of every rank: min(2 p - 1, M) micro-batches
/// * weight contexts of rank r (what I keeps for W): max(1, min(2 r + 1, M - 2 (p - 1 - r)))
/// * with T the shortest of T_F, T_I and T_W, and T_W <= T_I or M >= p:
///   idle time per rank: max((p - 1) T_F, (p - 1)(T_F + T_I) - (min(2 p - 1, M) - 1) T)
/// * with equal durations and M >= 2 p - 1: makespan 3 M + p - 1, but every rank is done 3 M after its beginning. What
/// is
///   left of the bubble goes if ranks step their optimizers on their own (post-validation)
/// * moves per boundary: M activations forward, M gradients back
///
/// Use it where 2 p - 1 activations fit on every rank and each rank steps on its own. Not with a step that all ranks
/// begin together: then it is no faster than ZB-H1, and keeps twice as much. Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, sec. 2.3 (I is B there).
struct zero_bubble_h2 {
  static constexpr char const* name = "zb-h2";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches; with M < 2 p - 1 the warm-up is cut at M.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches);
  }

  /// Forwards of rank `rank` before its first I.
  [[nodiscard]] static constexpr int warm_up(int rank, int ranks, int micro_batches) {
    int const wanted = 2 * (ranks - rank) - 1;
    return wanted < micro_batches ? wanted : micro_batches;
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const warm = warm_up(rank, ranks, micro_batches);
    for (int micro_batch = 0; micro_batch < warm; ++micro_batch) put(op::forward, rank, micro_batch);
    int weights = 0;
    for (int turn = 0; turn < micro_batches; ++turn) {
      bool const more = warm + turn < micro_batches;
      put(op::backward_input, rank, turn);
      if (turn >= 2 * rank || !more) put(op::backward_weight, rank, weights++);
      if (more) put(op::forward, rank, warm + turn);
    }
    while (weights < micro_batches) put(op::backward_weight, rank, weights++);
  }

  /// From 2 p - 1 micro-batches on, each further one is one more F, I, W on every rank.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) { return {2 * ranks - 1, 1}; }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int ranks, int micro_batches) {
    return 2 * ranks - 1 < micro_batches ? 2 * ranks - 1 : micro_batches;
  }

  /// Micro-batches whose I is done and whose W is not.
  [[nodiscard]] static constexpr int peak_weight_contexts(int rank, int ranks, int micro_batches) {
    int const cut = 2 * ranks - 1 - micro_batches;
    int const kept = 2 * rank + 1 - (cut > 0 ? cut : 0);
    return kept > 1 ? kept : 1;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    if (micro_batches < ranks && weight > input)
      return detail::played_idle(zero_bubble_h2{}, ranks, micro_batches, forward, input, weight);
    double const shorter = forward < input ? forward : input;
    double const shortest = shorter < weight ? shorter : weight;
    int const kept = peak_activations(0, ranks, micro_batches);
    double const most = (ranks - 1) * (forward + input) - (kept - 1) * shortest;
    double const least = (ranks - 1) * forward;
    return most > least ? most : least;
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(zero_bubble_h2::check(4, 2).legal() && zero_bubble_h2::check(4, 0).nearest == 1);
static_assert(zero_bubble_h2::warm_up(0, 4, 8) == 7 && zero_bubble_h2::peak_activations(3, 4, 8) == 7);
static_assert(zero_bubble_h2::idle(4, 8, 1.0, 1.0, 1.0) == 3.0 && zero_bubble_h2::idle(4, 4, 1.0, 1.0, 1.0) == 3.0);

}  // namespace weft::inline v1::schedule
