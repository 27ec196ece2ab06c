// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>

namespace weft::inline v1::collective {

/// Reduce-scatter by halving, all-gather by doubling (Rabenseifner). n ranks, n chunks.
///
///     reduce_scatter, 4 ranks      round 0: 0 -c2 c3-> 2, 2 -c0 c1-> 0, 1 -c2 c3-> 3, 3 -c0 c1-> 1
///                                  round 1: 0 -c1-> 1, 1 -c0-> 0, 2 -c3-> 3, 3 -c2-> 2
///     all_gather                   the same, backwards
///
///     5 ranks: halves {0 1 2} {3 4}      round 0: 0 <-> 3, 1 <-> 4, as above
///                                        round 1: 2 -c3-> 3, 2 -c4-> 4
///
/// A group of ranks splits into two halves; each rank has a partner in the other half, gives it that half's chunks and
/// gets its own half's. In an odd group one rank of the larger half is left over: it sends each chunk of the other half
/// straight to the rank where that chunk will end, one round later. So no rank count needs a detour.
///
/// * all_gather: ceil(log2 n) rounds. reduce_scatter: one more for every level with an odd group, 2 ceil(log2 n) at
///   most; nothing waits for the additional ones before the last round
/// * (n - 1)/n of the buffer sent by each rank in the reduce_scatter, and received by each in the all_gather; the other
///   way round it is the same for powers of two, and up to 3/2 of it for the busiest rank else
/// * all_reduce: reduce_scatter, then all_gather of the same list: one rank adds up a chunk and the others copy it
/// * association: chunk c is a tree whose root joins the two halves of all ranks, seen from rank c
///
/// Use it for large buffers on many ranks: the bytes of the ring in fewer rounds. The ring sends to one neighbour only,
/// which suits networks where distance costs.
/// Rabenseifner, ICCS 2004, LNCS 3036, 1; Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19 (2005)
/// 49.
struct recursive_halving {
  static constexpr char const* name = "recursive-halving";

  /// Every rank begins with all chunks; at the end rank r has the sum of chunk r.
  [[nodiscard]] static constexpr step_list reduce_scatter(int ranks) {
    step_list list{ranks, ranks, scatter_rounds(ranks), detail::buffer<step>(ranks * (ranks - 1))};
    append_scatter(list);
    return list;
  }

  /// Chunk r begins on rank r; at the end every rank has all of them.
  [[nodiscard]] static constexpr step_list all_gather(int ranks) {
    step_list list{ranks, ranks, levels(ranks), detail::buffer<step>(ranks * (ranks - 1))};
    append_gather(list, 0, 0);
    return list;
  }

  /// Every rank ends with the sum of every chunk.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks) {
    step_list list{ranks, ranks, scatter_rounds(ranks) + levels(ranks), detail::buffer<step>(2 * ranks * (ranks - 1))};
    append_scatter(list);
    append_gather(list, scatter_rounds(ranks), ranks * (ranks - 1));
    return list;
  }

 private:
  static constexpr int levels(int ranks) {
    int count = 0;
    for (int size = 1; size < ranks; size *= 2) ++count;
    return count;
  }

  /// The groups of one level: group g is the ranks bounds[g] .. bounds[g + 1] - 1. The larger half comes first.
  struct groups {
    int count = 1;
    detail::buffer<int> bounds;

    constexpr groups(int ranks, int level) : bounds(ranks + 1) {
      bounds[1] = ranks;
      for (; level > 0; --level) {
        detail::buffer<int> finer(ranks + 1);
        int found = 0;
        for (int group = 0; group < count; ++group) {
          int const size = bounds[group + 1] - bounds[group];
          if (size > 1) finer[++found] = bounds[group] + (size + 1) / 2;
          finer[++found] = bounds[group + 1];
        }
        bounds = finer;
        count = found;
      }
    }

    [[nodiscard]] constexpr bool has_odd() const {
      for (int group = 0; group < count; ++group) {
        int const size = bounds[group + 1] - bounds[group];
        if (size > 1 && size % 2 == 1) return true;
      }
      return false;
    }
  };

  static constexpr int scatter_rounds(int ranks) {
    int rounds = 0;
    for (int level = 0; level < levels(ranks); ++level) rounds += groups(ranks, level).has_odd() ? 2 : 1;
    return rounds;
  }

  static constexpr void append_scatter(step_list& list) {
    int position = 0;
    int round = 0;
    auto const put = [&](int from, int to, int chunk) {
      list.steps[position++] = step{round, from, to, chunk, arrival::add};
    };
    for (int level = 0; level < levels(list.ranks); ++level, ++round) {
      groups const now(list.ranks, level);
      for (int group = 0; group < now.count; ++group) {
        int const begin = now.bounds[group];
        int const end = now.bounds[group + 1];
        int const middle = begin + (end - begin + 1) / 2;
        for (int pair = 0; middle + pair < end; ++pair) {
          for (int chunk = middle; chunk < end; ++chunk) put(begin + pair, middle + pair, chunk);
          for (int chunk = begin; chunk < middle; ++chunk) put(middle + pair, begin + pair, chunk);
        }
      }
      if (!now.has_odd()) continue;
      ++round;
      for (int group = 0; group < now.count; ++group) {
        int const begin = now.bounds[group];
        int const end = now.bounds[group + 1];
        int const middle = begin + (end - begin + 1) / 2;
        if ((end - begin) % 2 == 1)
          for (int chunk = middle; chunk < end; ++chunk) put(middle - 1, chunk, chunk);
      }
    }
  }

  static constexpr void append_gather(step_list& list, int round, int position) {
    auto const put = [&](int from, int to, int chunk) {
      list.steps[position++] = step{round, from, to, chunk, arrival::copy};
    };
    for (int level = levels(list.ranks) - 1; level >= 0; --level, ++round) {
      groups const now(list.ranks, level);
      for (int group = 0; group < now.count; ++group) {
        int const begin = now.bounds[group];
        int const end = now.bounds[group + 1];
        int const middle = begin + (end - begin + 1) / 2;
        for (int pair = 0; middle + pair < end; ++pair) {
          for (int chunk = begin; chunk < middle; ++chunk) put(begin + pair, middle + pair, chunk);
          for (int chunk = middle; chunk < end; ++chunk) put(middle + pair, begin + pair, chunk);
        }
        if ((end - begin) % 2 == 1)
          for (int chunk = middle; chunk < end; ++chunk) put(chunk, middle - 1, chunk);
      }
    }
  }
};

}  // namespace weft::inline v1::collective
