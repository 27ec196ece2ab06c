// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>

namespace weft::inline v1::collective {

/// Doubles the informed ranks every round. n ranks, one chunk.
///
///     broadcast from 0, 6 ranks     round 0: 0 -> 1
///                                   round 1: 0 -> 2, 1 -> 3
///                                   round 2: 0 -> 4, 1 -> 5
///
/// * ceil(log2 n) rounds; n - 1 messages of the whole buffer
/// * reduce: the same tree backwards; rank r adds r + 2^k for falling k, so the association depends on n alone
/// * all_reduce: reduce to rank 0, then broadcast: 2 ceil(log2 n) rounds, 2 (n - 1) messages in all, the fewest of any
///   policy here; rank 0 alone adds the last time, so every rank has its bits
///
/// Use it for small buffers (losses, flags, tokens). Not for large ones, where the ring sends less per rank.
struct binomial_tree {
  static constexpr char const* name = "tree";

  /// Rank `root` begins with the buffer; at the end every rank has it.
  [[nodiscard]] static constexpr step_list broadcast(int ranks, int root = 0) {
    step_list list{ranks, 1, rounds(ranks), detail::buffer<step>(ranks - 1)};
    int position = 0;
    for (int round = 0, informed = 1; informed < ranks; ++round, informed *= 2)
      for (int place = 0; place < informed && place + informed < ranks; ++place)
        list.steps[position++] =
            step{round, (place + root) % ranks, (place + informed + root) % ranks, 0, arrival::copy};
    return list;
  }

  /// Every rank begins with a buffer; at the end `root` has their sum.
  [[nodiscard]] static constexpr step_list reduce(int ranks, int root = 0) {
    step_list list{ranks, 1, rounds(ranks), detail::buffer<step>(ranks - 1)};
    int position = 0;
    int informed = 1;
    while (informed * 2 < ranks) informed *= 2;
    for (int round = 0; informed >= 1 && round < list.rounds; ++round, informed /= 2)
      for (int place = 0; place < informed && place + informed < ranks; ++place)
        list.steps[position++] =
            step{round, (place + informed + root) % ranks, (place + root) % ranks, 0, arrival::add};
    return list;
  }

  /// Every rank ends with the sum.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks) {
    step_list const up = reduce(ranks);
    step_list const down = broadcast(ranks);
    step_list list{ranks, 1, up.rounds + down.rounds, detail::buffer<step>(up.size() + down.size())};
    for (int index = 0; index < up.size(); ++index) list.steps[index] = up.steps[index];
    for (int index = 0; index < down.size(); ++index) {
      step later = down.steps[index];
      later.round += up.rounds;
      list.steps[up.size() + index] = later;
    }
    return list;
  }

 private:
  static constexpr int rounds(int ranks) {
    int count = 0;
    for (int informed = 1; informed < ranks; informed *= 2) ++count;
    return count;
  }
};

}  // namespace weft::inline v1::collective
