// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/chunk_groups.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// In which order a backward walks the micro-batches of a chunk.
enum class backward_order : unsigned char { ascending, descending };

/// `breadth_first` with chunks and group that come at run time.
template <backward_order Order>
struct breadth_first_values {
  static constexpr char const* name = Order == backward_order::ascending ? "breadth-first" : "looped-bfs";
  using placement = topology::placement::loop;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};
  int chunks = 2;
  int group = 0;

  [[nodiscard]] static constexpr breadth_first_values of(shape const& chosen) {
    return {chosen.chunks == 0 ? 2 : chosen.chunks, chosen.group};
  }

  /// Any number of ranks, micro-batches and chunks, and any group of 1 or more.
  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    validity const found = check_at_least_one(ranks, micro_batches, chunks);
    return found.legal() && group < 0 ? validity{rule::needs_a_group, group, 1} : found;
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    for (int first = 0; first < micro_batches; first += size(micro_batches)) {
      int const left = micro_batches - first;
      int const count = left < size(micro_batches) ? left : size(micro_batches);
      for (int pass = 0; pass < 2; ++pass)
        for (int index = 0; index < chunks; ++index)
          for (int step = 0; step < count; ++step) {
            bool const forward = pass == 0;
            bool const upwards = forward || Order == backward_order::ascending;
            put(forward ? op::forward : op::backward, (forward ? index : chunks - 1 - index) * ranks + rank,
                first + (upwards ? step : count - 1 - step));
          }
    }
  }

  /// In micro-batches of one stage, over all chunks of the rank.
  [[nodiscard]] constexpr int peak_activations(int /*rank*/, int /*ranks*/, int micro_batches) const {
    return size(micro_batches) * chunks;
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    int passes = 0;
    for (int first = 0; first < micro_batches; first += size(micro_batches)) {
      int const left = micro_batches - first;
      int const count = left < size(micro_batches) ? left : size(micro_batches);
      passes += ranks - 1 + detail::missing_passes(ranks, count, chunks);
    }
    return passes * (forward + backward);
  }

 private:
  /// Micro-batches of a group: all of them, or the wanted number.
  [[nodiscard]] constexpr int size(int micro_batches) const {
    return group > 0 && group < micro_batches ? group : micro_batches;
  }
};

/// GPipe over several stages per rank: every chunk runs all micro-batches before the next chunk begins, there and back,
/// so that whatever a chunk needs (sharded weights, a reduction of its gradients) is needed once and in one piece.
///
///     rank 0  0F0 0F1 0F2 2F0 2F1 2F2 ... ... 2B0 2B1 2B2 0B0 0B1 0B2       p = 2, v = 2, M = 3
///     rank 1  ... 1F0 1F1 1F2 3F0 3F1 3F2 3B0 3B1 3B2 1B0 1B1 1B2 ...       (stage, pass, micro-batch)
///
/// * peak activations of every rank: M v, in micro-batches of one stage
/// * idle time per rank: (p - 1 + (v - 1) max(0, p - M)) (T_F + T_B), T of one stage, which is 1 / v of a rank's
/// * moves M activations and M gradients over each of v p - 1 boundaries
///
/// `GroupSize` N > 0: depth first over groups of N micro-batches, forwards and backwards of one before the next (and so
/// N v activations, and an idle time for each group of its own). `backward_order::descending`: a backward walks the
/// micro-batches of a chunk downwards, as PyTorch's LoopedBFS does; its gradients equal those of a serial run that adds
/// them downwards.
///
/// Use it with sharded weights or where reductions must overlap, and memory for all micro-batches (or recompute).
/// Not where memory is short: interleaved 1F1B idles as little and keeps less.
/// Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953.
template <int Chunks, int GroupSize = 0, backward_order Order = backward_order::ascending>
struct breadth_first : fixed<breadth_first_values<Order>{Chunks, GroupSize}> {};

/// `breadth_first` with the backward walking downwards.
template <int Chunks, int GroupSize = 0>
using looped_bfs = breadth_first<Chunks, GroupSize, backward_order::descending>;

static_assert(breadth_first<2>::check(4, 2).legal() && breadth_first<0>::check(4, 2).nearest == 1);
static_assert(breadth_first<2>::peak_activations(0, 4, 8) == 16 && looped_bfs<2, 4>::idle(4, 8, 1.0, 2.0) == 18.0);

}  // namespace weft::inline v1::schedule
