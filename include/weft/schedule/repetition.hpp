// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>

namespace weft::inline v1::schedule {

/// How the rows of a policy grow with the number of micro-batches: from `first` on, `step` more of them put one body of
/// `step` micro-batches into every row, between what stands before it (the prologue) and what follows (the
/// epilogue, whose micro-batches then count `step` more).
///
///     1f1b, rank 1 of 3     M = 2   F0 F1 |       | B0 B1            first = 2, step = 1
///                           M = 3   F0 F1 | F2 B0 | B1 B2
///                           M = 4   F0 F1 | F2 B0 | F3 B1 | B2 B3
struct repetition {
  int first = 0;
  int step = 0;  ///< 0: rows do not repeat

  [[nodiscard]] constexpr bool repeats() const { return step > 0; }
  /// The smallest count from `first` on with the residue of `micro_batches`.
  [[nodiscard]] constexpr int base_of(int micro_batches) const { return first + (micro_batches - first) % step; }
  friend constexpr bool operator==(repetition const&, repetition const&) = default;
};

/// A policy that says so: `repeats(ranks, micro_batches)`, for counts of the same residue (modulo `step`) as
/// `micro_batches`. Its rows of three counts then define those of all larger ones, which is what makes a proof by
/// induction one of what will run; `write_table` checks, when the program starts, that `write_row` agrees.
template <class Policy>
concept repeating_policy = requires(Policy const& policy, int number) {
  { policy.repeats(number, number) } -> std::same_as<repetition>;
};

/// What `repeats` answers for a policy that does not have it: no.
template <class Policy>
constexpr repetition repetition_of(Policy const& policy, int ranks, int micro_batches) {
  if constexpr (repeating_policy<Policy>)
    return policy.repeats(ranks, micro_batches);
  else
    return {};
}

}  // namespace weft::inline v1::schedule
