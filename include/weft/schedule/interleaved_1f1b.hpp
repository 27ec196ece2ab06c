// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/chunk_groups.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// `interleaved_1f1b` with chunks and group that come at run time.
struct interleaved_1f1b_values {
  static constexpr char const* name = "interleaved-1f1b";
  using placement = topology::placement::loop;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};
  int chunks = 2;
  int group = 0;

  [[nodiscard]] static constexpr interleaved_1f1b_values of(shape const& chosen) {
    return {chosen.chunks == 0 ? 2 : chosen.chunks, chosen.group};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    return detail::check_groups(ranks, micro_batches, chunks, group);
  }

  /// Forwards of rank `rank` before its first pair, cut at all there are.
  [[nodiscard]] constexpr int warm_up(int rank, int ranks, int micro_batches) const {
    int const wanted = 2 * (ranks - rank - 1) + (chunks - 1) * detail::group_size(ranks, micro_batches, group);
    return wanted < micro_batches * chunks ? wanted : micro_batches * chunks;
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    detail::chunk_groups const order{chunks, micro_batches, detail::group_size(ranks, micro_batches, group)};
    int const warm = warm_up(rank, ranks, micro_batches);
    int const all = micro_batches * chunks;
    for (int turn = 0; turn < all + warm; ++turn) {
      if (turn < all) put(op::forward, order.forward_chunk(turn) * ranks + rank, order.micro_batch(turn));
      if (turn < warm) continue;
      put(op::backward, order.backward_chunk(turn - warm) * ranks + rank, order.micro_batch(turn - warm));
    }
  }

  /// Multiples of p, in groups of p: each further group is one more turn through all chunks. Other counts, whose groups
  /// change with the count, do not repeat.
  [[nodiscard]] constexpr repetition repeats(int ranks, int micro_batches) const {
    return group == 0 && micro_batches % ranks == 0 ? repetition{2 * ranks, ranks} : repetition{};
  }

  /// In micro-batches of one stage, over all chunks of the rank.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    int const kept = warm_up(rank, ranks, micro_batches) + 1;
    return kept < micro_batches * chunks ? kept : micro_batches * chunks;
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return (ranks - 1 + detail::missing_passes(ranks, micro_batches, chunks)) * (forward + backward);
  }
};

/// 1F1B over several stages per rank: rank r holds stages r, r + p, r + 2 p, ... (chunks), and runs groups of N
/// micro-batches through one chunk before it turns to the next. The pipeline fills with passes of 1 / v of a rank's
/// work, and so its bubble is 1 / v of 1F1B's.
///
///     rank 0  0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 ... 2B2 ... 2B3 0B2 0B3      p = 2, v = 2, M = 4
///     rank 1  ... 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3 ...      (stage, pass, micro-batch)
///
/// * group N: p where p divides M, otherwise the smallest that leaves every rank supplied (see `GroupSize`)
/// * warm-up of rank r: w = min(2 (p - r - 1) + (v - 1) N, M v) forwards; without the cut, rows would hold
/// micro-batches
///   that do not exist
/// * peak activations of rank r: min(w + 1, M v), in micro-batches of one stage
/// * idle time per rank: (p - 1 + (v - 1) max(0, p - M)) (T_F + T_B), T of one stage, which is 1 / v of a rank's
/// * moves v times what 1F1B moves: M activations and M gradients over each of v p - 1 boundaries
/// * hops of T_c cost (2 p v - 2) T_c where p divides M, however many micro-batches there are
///
/// Use it where 1F1B's bubble hurts, M is not many times p, and links are fast. Not where stages are short against the
/// hop time, or memory is short: it keeps more than 1F1B does.
///
/// `GroupSize`: 0 for the default, or N with min(p, M) <= N <= M where M mod N is 0 or at least min(p, M).
/// Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, arXiv 2104.04473.
template <int Chunks, int GroupSize = 0>
struct interleaved_1f1b : fixed<interleaved_1f1b_values{Chunks, GroupSize}> {};

static_assert(interleaved_1f1b<2>::check(4, 6).legal() && interleaved_1f1b<2, 5>::check(4, 8).nearest == 4);
static_assert(interleaved_1f1b<2>::peak_activations(0, 4, 8) == 11 && interleaved_1f1b<2>::idle(4, 8, 1.0, 2.0) == 9.0);

}  // namespace weft::inline v1::schedule
