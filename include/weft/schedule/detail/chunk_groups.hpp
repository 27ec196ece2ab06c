// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/validity.hpp>

/// @file
/// The order that interleaved schedules walk chunks in: micro-batches in groups of N, every chunk of a group before the
/// next group. The last group holds what is left.
///
///     v = 2, N = 3, M = 5    micro-batch  0 1 2 0 1 2 3 4 3 4
///                            chunk        0 0 0 1 1 1 0 0 1 1       backward: chunk v - 1 - c

namespace weft::inline v1::schedule::detail {

struct chunk_groups {
  int chunks;
  int micro_batches;
  int group;

  [[nodiscard]] constexpr int first(int turn) const { return turn / (group * chunks) * group; }
  [[nodiscard]] constexpr int size(int turn) const {
    int const left = micro_batches - first(turn);
    return left < group ? left : group;
  }
  [[nodiscard]] constexpr int micro_batch(int turn) const { return first(turn) + turn % (group * chunks) % size(turn); }
  [[nodiscard]] constexpr int forward_chunk(int turn) const { return turn % (group * chunks) / size(turn); }
  [[nodiscard]] constexpr int backward_chunk(int turn) const { return chunks - 1 - forward_chunk(turn); }
};

/// Whether groups of `group` keep every rank supplied: as many micro-batches as ranks in each, the last one too.
constexpr bool is_group(int ranks, int micro_batches, int group) {
  int const least = ranks < micro_batches ? ranks : micro_batches;
  int const rest = micro_batches % group;
  return group >= least && group <= micro_batches && (rest == 0 || rest >= least);
}

/// The group in use: the wanted one, or the smallest legal one where 0 is wanted. With M a multiple of ranks that is
/// `ranks`, and one group of all where M < ranks. Where M / (M / ranks) is an integer, it is that (PyTorch's rule).
constexpr int group_size(int ranks, int micro_batches, int wanted) {
  if (wanted > 0) return wanted;
  int group = ranks < micro_batches ? ranks : micro_batches;
  while (!is_group(ranks, micro_batches, group)) ++group;
  return group;
}

/// With fewer micro-batches than ranks every chunk but the first waits for the one before it: by how many passes, in
/// all.
constexpr int missing_passes(int ranks, int micro_batches, int chunks) {
  return micro_batches < ranks ? (chunks - 1) * (ranks - micro_batches) : 0;
}

/// Any count of ranks, micro-batches and chunks; a group, where one is given, between ranks and micro-batches and
/// without a remainder smaller than ranks (Megatron's rule).
constexpr validity check_groups(int ranks, int micro_batches, int chunks, int group) {
  if (validity const found = check_at_least_one(ranks, micro_batches, chunks); !found.legal()) return found;
  if (group == 0) return {};
  if (group < 0) return {rule::group_fits, group, group_size(ranks, micro_batches, 0)};
  if (group <= micro_batches && is_group(ranks, micro_batches, group)) return {};
  for (int step = 1;; ++step) {
    if (group + step <= micro_batches && is_group(ranks, micro_batches, group + step))
      return {rule::group_fits, group, group + step};
    if (group - step > 0 && group - step <= micro_batches && is_group(ranks, micro_batches, group - step))
      return {rule::group_fits, group, group - step};
  }
}

}  // namespace weft::inline v1::schedule::detail
