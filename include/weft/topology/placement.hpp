// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

/// @file
/// Where stages live. A placement is any type with `copies` and `rank_of(stage, copy, ranks)`; with v chunks a rank
/// there are v * ranks stages.
///
///     4 ranks, 8 stages        rank 0   rank 1   rank 2   rank 3
///     loop                      0  4     1  5     2  6     3  7
///     v                         0  7     1  6     2  5     3  4
///     wave                      0  7     1  6     2  5     3  4     (then 8 15, ...: zig-zag)
///     two_way, 4 stages         0  3'    1  2'    2  1'    3  0'    (' is the second copy of the model)

namespace weft::inline v1::topology::placement {

/// Stage s on rank s mod ranks.
struct loop {
  static constexpr int copies = 1;
  [[nodiscard]] static constexpr int rank_of(int stage, int /*copy*/, int ranks) { return stage % ranks; }
};

/// There and back: the first and the last stage share a rank, so embedding and tied head meet.
struct v {
  static constexpr int copies = 1;
  [[nodiscard]] static constexpr int rank_of(int stage, int /*copy*/, int ranks) {
    int const turn = stage % (2 * ranks);
    return turn < ranks ? turn : 2 * ranks - 1 - turn;
  }
};

/// `v`, repeated: what Hanayo uses with more than two chunks.
using wave = v;

/// Two copies of the model that enter at opposite ends (Chimera, DualPipe).
struct two_way {
  static constexpr int copies = 2;
  [[nodiscard]] static constexpr int rank_of(int stage, int copy, int ranks) {
    int const rank = stage % ranks;
    return copy == 0 ? rank : ranks - 1 - rank;
  }
};

/// Stages on several ranks each, one group of ranks after the other; copy c of a stage is with the rank c of its group,
/// modulo their number (PipeDream's round-robin routing). `replicas` outlives the placement.
struct replicated {
  int copies = 1;  ///< a common multiple of the groups' sizes
  int const* replicas = nullptr;
  [[nodiscard]] constexpr int rank_of(int stage, int copy, int /*ranks*/) const {
    int first = 0;
    for (int before = 0; before < stage; ++before) first += replicas[before];
    return first + copy % replicas[stage];
  }
};

/// Any map, as an array `ranks_of[stage]` that outlives the placement.
struct map {
  static constexpr int copies = 1;
  int const* ranks_of = nullptr;
  [[nodiscard]] constexpr int rank_of(int stage, int /*copy*/, int /*ranks*/) const { return ranks_of[stage]; }
};

}  // namespace weft::inline v1::topology::placement
