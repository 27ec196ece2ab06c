// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/validity.hpp>

namespace weft::inline v1::schedule::detail {

/// 1F1B over all micro-batches of a table, with a STEP behind the last backward of every `per_step` of them: the order
/// of PipeDream (`per_step` 1) and 2BW. `forward_version(micro_batch)` and `backward_version(micro_batch)` say which
/// weights are read.
template <class Writer, class ForwardVersion, class BackwardVersion>
constexpr void write_asynchronous_row(int rank, int ranks, int micro_batches, int per_step,
                                      ForwardVersion const& forward_version, BackwardVersion const& backward_version,
                                      Writer& put) {
  int const warm = ranks - rank - 1;
  for (int turn = 0; turn < micro_batches + warm; ++turn) {
    if (turn < micro_batches) put.at_version(op::forward, rank, turn, forward_version(turn));
    int const backward = turn - warm;
    if (backward < 0) continue;
    put.at_version(op::backward, rank, backward, backward_version(backward));
    if ((backward + 1) % per_step == 0) put(op::step, rank, 0);
  }
}

/// What every asynchronous schedule needs; `oldest_read`: how many STEPs behind the newest its oldest weights are.
constexpr validity check_asynchronous(int ranks, int micro_batches, int steps_before, int oldest_read) {
  if (validity const found = check_at_least_one(ranks, micro_batches); !found.legal()) return found;
  if (ranks > 255) return {rule::versions_fit, ranks, 255};
  if (steps_before < 0) return {rule::steps_before_fit, steps_before, 0};
  if (steps_before > oldest_read) return {rule::steps_before_fit, steps_before, oldest_read};
  return {};
}

constexpr int at_least_zero(int number) { return number > 0 ? number : 0; }

}  // namespace weft::inline v1::schedule::detail
