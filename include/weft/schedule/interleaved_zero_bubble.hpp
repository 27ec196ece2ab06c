// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/chunk_groups.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// `interleaved_zero_bubble` with chunks and group that come at run time.
struct interleaved_zero_bubble_values {
  static constexpr char const* name = "interleaved-zb";
  using placement = topology::placement::loop;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};
  int chunks = 2;
  int group = 0;

  [[nodiscard]] static constexpr interleaved_zero_bubble_values of(shape const& chosen) {
    return {chosen.chunks == 0 ? 2 : chosen.chunks, chosen.group};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    return detail::check_groups(ranks, micro_batches, chunks, group);
  }

  /// Forwards of rank `rank` before its first pair, cut at all there are.
  [[nodiscard]] constexpr int warm_up(int rank, int ranks, int micro_batches) const {
    int const wanted = ranks - rank - 1 + (chunks - 1) * detail::group_size(ranks, micro_batches, group);
    return wanted < micro_batches * chunks ? wanted : micro_batches * chunks;
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    detail::chunk_groups const order{chunks, micro_batches, detail::group_size(ranks, micro_batches, group)};
    int const warm = warm_up(rank, ranks, micro_batches);
    int const all = micro_batches * chunks;
    auto const backward = [&](op what, int turn) {
      put(what, order.backward_chunk(turn) * ranks + rank, order.micro_batch(turn));
    };
    for (int turn = 0; turn < warm; ++turn)
      put(op::forward, order.forward_chunk(turn) * ranks + rank, order.micro_batch(turn));
    for (int turn = 0; turn < all; ++turn) {
      int const next = warm + turn;
      if (next < all) put(op::forward, order.forward_chunk(next) * ranks + rank, order.micro_batch(next));
      backward(op::backward_input, turn);
      if (turn >= rank) backward(op::backward_weight, turn - rank);
    }
    for (int turn = all > rank ? all - rank : 0; turn < all; ++turn) backward(op::backward_weight, turn);
  }

  /// Multiples of p, in groups of p: each further group is one more turn through all chunks. Other counts, whose groups
  /// change with the count, do not repeat.
  [[nodiscard]] constexpr repetition repeats(int ranks, int micro_batches) const {
    return group == 0 && micro_batches % ranks == 0 ? repetition{2 * ranks, ranks} : repetition{};
  }

  /// In micro-batches of one stage, over all chunks of the rank.
  [[nodiscard]] constexpr int peak_activations(int /*rank*/, int ranks, int micro_batches) const {
    int const kept = ranks + (chunks - 1) * detail::group_size(ranks, micro_batches, group);
    return kept < micro_batches * chunks ? kept : micro_batches * chunks;
  }

  /// Turns whose I is done and whose W is not.
  [[nodiscard]] constexpr int peak_weight_contexts(int rank, int /*ranks*/, int micro_batches) const {
    return rank + 1 < micro_batches * chunks ? rank + 1 : micro_batches * chunks;
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double input, double weight) const {
    if (micro_batches < ranks) return detail::played_idle(*this, ranks, micro_batches, forward, input, weight);
    double const shorter = forward < input ? forward : input;
    return (ranks - 1) * (forward + input - (shorter < weight ? shorter : weight));
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

/// Interleaved 1F1B with the backward in two halves: I, which the rank before waits for, at once; W, which nobody waits
/// for, r turns later on rank r, and what is left at the end.
///
///     rank 0  0F0 0F1 2F0 2F1 ... 2I0 2W0 0F2 2I1 2W1 0F3 0I0 0W0 2F2 0I1 0W1 2F3 2I2 2W2 2I3 2W3 0I2 0W2 0I3 0W3
///     rank 1  ... 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 3I2 1W1 3F3 3I3 3W2 1I2 3W3 1I3 1W2 1W3
///
/// (p = 2, v = 2, M = 4: stage, pass, micro-batch)
///
/// * group N: as `interleaved_1f1b`'s
/// * warm-up of rank r: min((v - 1) N + p - 1 - r, M v) forwards
/// * peak activations of every rank: min((v - 1) N + p, M v), in micro-batches of one stage
/// * weight contexts of rank r (what I keeps for W): min(r + 1, M v)
/// * idle time per rank with M >= p: (p - 1)(T_F + T_I - min(T_F, T_I, T_W)), T of one stage, which is 1 / v of a
/// rank's;
///   with fewer micro-batches more, and no closed form (`idle` plays the table)
/// * moves M activations and M gradients over each of v p - 1 boundaries
///
/// Use it where interleaved 1F1B's bubble still hurts. Not where a stage's backward has one piece, or links are slow.
/// Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241; PyTorch's InterleavedZeroBubble.
template <int Chunks, int GroupSize = 0>
struct interleaved_zero_bubble : fixed<interleaved_zero_bubble_values{Chunks, GroupSize}> {};

static_assert(interleaved_zero_bubble<2>::check(4, 6).legal());
static_assert(interleaved_zero_bubble<2>::peak_activations(0, 4, 8) == 8);
static_assert(interleaved_zero_bubble<2>::idle(4, 8, 1.0, 1.0, 1.0) == 3.0);

}  // namespace weft::inline v1::schedule
