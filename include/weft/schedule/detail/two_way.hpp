// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/validity.hpp>

namespace weft::inline v1::schedule::detail {

/// Two copies of the model that enter at opposite ends need an even number of ranks, half of the micro-batches each,
/// and `least` of them per rank.
constexpr validity check_two_way(int ranks, int micro_batches, int least) {
  if (validity const found = check_at_least_one(ranks, micro_batches, 2); !found.legal()) return found;
  if (ranks % 2 != 0) return {rule::needs_even_ranks, ranks, ranks + 1};
  if (micro_batches < least * ranks) return {rule::micro_batches_per_rank, micro_batches, least * ranks};
  if (micro_batches % 2 != 0) return {rule::needs_even_micro_batches, micro_batches, micro_batches + 1};
  return {};
}

/// How far a rank is from the nearer end of the pipeline.
constexpr int from_end(int rank, int ranks) { return rank < ranks - 1 - rank ? rank : ranks - 1 - rank; }

}  // namespace weft::inline v1::schedule::detail
