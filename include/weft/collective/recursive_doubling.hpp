// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>

namespace weft::inline v1::collective {

/// Pairs exchange everything they have, at twice the distance every round. n ranks, one chunk.
///
///     4 ranks      round 0: 0 <-> 1, 2 <-> 3
///                  round 1: 0 <-> 2, 1 <-> 3
///     6 ranks      round 0: 1 -> 0, 3 -> 2                  the odd ones of the first 2 (n - 2^k) hand in,
///                  rounds 1, 2: as 4 ranks, of 0, 2, 4, 5
///                  round 3: 0 -> 1, 2 -> 3                  and are told
///
/// * log2 n rounds for a power of two; floor(log2 n) + 2 else
/// * sends of the busiest rank: the buffer times the rounds of the exchange, plus 1 where it tells another rank
/// * association: a balanced tree; both ranks of a pair compute own + received, which is a + b on one and b + a on the
///   other: equal bits (unless both are NaN)
///
/// Use it for small buffers, where rounds cost more than bytes: norms, losses, flags. Not for gradients: the busiest
/// rank of ring and recursive_halving sends less than twice the buffer, whatever n.
/// Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19 (2005) 49.
struct recursive_doubling {
  static constexpr char const* name = "recursive-doubling";

  /// Every rank ends with the sum.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks) {
    int core = 1;  // the largest power of two that is no larger than `ranks`
    int exchanges = 0;
    for (; core * 2 <= ranks; core *= 2) ++exchanges;
    int const extra = ranks - core;
    auto const member = [extra](int place) { return place < extra ? 2 * place : place + extra; };

    step_list list{ranks, 1, exchanges + (extra > 0 ? 2 : 0), detail::buffer<step>(2 * extra + core * exchanges)};
    int position = 0;
    int round = 0;
    for (int place = 0; place < extra; ++place)
      list.steps[position++] = step{round, 2 * place + 1, 2 * place, 0, arrival::add};
    if (extra > 0) ++round;
    for (int distance = 1; distance < core; distance *= 2, ++round)
      for (int place = 0; place < core; ++place)
        list.steps[position++] = step{round, member(place), member(place ^ distance), 0, arrival::add};
    for (int place = 0; place < extra; ++place)
      list.steps[position++] = step{round, 2 * place, 2 * place + 1, 0, arrival::copy};
    return list;
  }
};

}  // namespace weft::inline v1::collective
