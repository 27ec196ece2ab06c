// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>

namespace weft::inline v1::collective {

/// Every rank sends to the next one. n ranks, n chunks.
///
///     all_gather, 3 ranks      round 0: 0 -c0-> 1 -c1-> 2 -c2-> 0
///                              round 1: 0 -c2-> 1 -c0-> 2 -c1-> 0
///
/// * all_gather and reduce_scatter: n - 1 rounds, (n - 1)/n of the buffer sent by each rank
/// * all_reduce: reduce_scatter, then all_gather of the same list, so that ZeRO-1 (which stops in between) gets the
///   same bits as plain data parallelism
/// * association: chunk c is added up along the ring from rank c + 1, ((x[c+1] + x[c+2]) + ...) + x[c], on every rank
///   alike
///
/// Use it for large buffers. Not for small ones on many ranks, where n - 1 hops cost more than the bytes.
/// Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009) 117.
struct ring {
  static constexpr char const* name = "ring";

  /// Chunk r begins on rank r; at the end every rank has all of them.
  [[nodiscard]] static constexpr step_list all_gather(int ranks) {
    step_list list{ranks, ranks, ranks - 1, detail::buffer<step>(ranks * (ranks - 1))};
    append_gather(list, 0, 0);
    return list;
  }

  /// Every rank begins with all chunks; at the end rank r has the sum of chunk r.
  [[nodiscard]] static constexpr step_list reduce_scatter(int ranks) {
    step_list list{ranks, ranks, ranks - 1, detail::buffer<step>(ranks * (ranks - 1))};
    append_scatter(list);
    return list;
  }

  /// Every rank ends with the sum of every chunk.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks) {
    step_list list{ranks, ranks, 2 * (ranks - 1), detail::buffer<step>(2 * ranks * (ranks - 1))};
    append_scatter(list);
    append_gather(list, ranks - 1, ranks * (ranks - 1));
    return list;
  }

 private:
  static constexpr void append_gather(step_list& list, int first_round, int position) {
    for (int round = 0; round < list.ranks - 1; ++round)
      for (int rank = 0; rank < list.ranks; ++rank)
        list.steps[position++] = step{first_round + round, rank, (rank + 1) % list.ranks,
                                      (rank - round + list.ranks) % list.ranks, arrival::copy};
  }

  static constexpr void append_scatter(step_list& list) {
    int position = 0;
    for (int round = 0; round < list.ranks - 1; ++round)
      for (int rank = 0; rank < list.ranks; ++rank)
        list.steps[position++] =
            step{round, rank, (rank + 1) % list.ranks, (rank - round - 1 + 2 * list.ranks) % list.ranks, arrival::add};
  }
};

}  // namespace weft::inline v1::collective
