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

/// 1F1B with the backward in two halves: I, which the rank before waits for, at once; W, which nobody waits for, later.
/// Rank r starts with W after r more pairs, so W(k) follows I(k + r), and what is left fills the cool-down.
///
///     rank 0  F0 F1 F2 F3 .. .. .. I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5      p = 4, M = 6
///     rank 1  .. F0 F1 F2 .. .. I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5
///     rank 2  .. .. F0 F1 .. I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5
///     rank 3  .. .. .. F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5
///
/// * peak activations of every rank: min(p, M) micro-batches; a micro-batch is kept from F to W
/// * weight contexts of rank r (what I keeps for W): min(r + 1, M)
/// * idle time per rank: (p - 1)(T_F + T_I) - (min(p, M) - 1) min(T_F, T_I, T_W); with M >= p and W the shortest that
/// is
///   (p - 1)(T_F + T_I - T_W), a third of 1F1B's where the three take equally long
/// * moves per boundary: M activations forward, M gradients back
/// * hops of T_c cost 4 (p - 1) T_c in all, however many micro-batches there are: W gives the round trips time (M a
///   multiple of p above p; 2 T_c less at M = p)
///
/// Use it where the bubble of 1F1B hurts and p activations fit on every rank, as they must on rank 0 of 1F1B. Not
/// where the last rank is the one short of memory (head and loss), and not for stages whose backward has one piece.
/// Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, sec. 2.3 and app. H (I is B there). Also called ZB1P.
struct zero_bubble_h1 {
  static constexpr char const* name = "zb-h1";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches: with M < ranks the warm-up is cut at M, and rank M and those behind it run
  /// all their W at the end.
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
    for (int pair = 0; pair < micro_batches; ++pair) {
      if (warm + pair < micro_batches) put(op::forward, rank, warm + pair);
      put(op::backward_input, rank, pair);
      if (pair >= rank) put(op::backward_weight, rank, pair - rank);
    }
    int const done = micro_batches > rank ? micro_batches - rank : 0;
    for (int micro_batch = done; micro_batch < micro_batches; ++micro_batch)
      put(op::backward_weight, rank, micro_batch);
  }

  /// From p - 1 micro-batches on, each further one is one more F, I, W on every rank.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) {
    return {ranks > 1 ? ranks - 1 : 1, 1};
  }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int ranks, int micro_batches) {
    return ranks < micro_batches ? ranks : micro_batches;
  }

  /// Micro-batches whose I is done and whose W is not.
  [[nodiscard]] static constexpr int peak_weight_contexts(int rank, int /*ranks*/, int micro_batches) {
    return rank + 1 < micro_batches ? rank + 1 : micro_batches;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    double const shorter = forward < input ? forward : input;
    int const filled = (ranks < micro_batches ? ranks : micro_batches) - 1;
    return (ranks - 1) * (forward + input) - filled * (shorter < weight ? shorter : weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(zero_bubble_h1::check(4, 2).legal() && zero_bubble_h1::check(4, 0).nearest == 1);
static_assert(zero_bubble_h1::peak_activations(3, 4, 8) == 4 && zero_bubble_h1::peak_weight_contexts(3, 4, 8) == 4);
static_assert(zero_bubble_h1::idle(4, 8, 1.0, 1.0, 1.0) == 3.0 && zero_bubble_h1::idle(4, 1, 1.0, 1.0, 1.0) == 6.0);

}  // namespace weft::inline v1::schedule
