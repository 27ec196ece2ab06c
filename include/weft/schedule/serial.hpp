// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// One rank, one micro-batch after the other. The reference that every other schedule is compared with, bit for bit.
///
///     rank 0  F0 B0 F1 B1 F2 B2 F3 B3
///
/// * peak activations: 1 micro-batch
/// * idle time: 0 (it has one rank); makespan: M (T_F + T_B)
/// * moves no bytes
///
/// Use it to debug a model, on one device, and as the yardstick of tests. Not for a model that one device cannot hold.
/// It is gradient accumulation as every framework has it; no paper.
struct serial {
  static constexpr char const* name = "serial";
  using placement = topology::placement::loop;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};

  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    validity const found = check_at_least_one(ranks, micro_batches);
    if (!found.legal()) return found;
    if (ranks != 1) return {rule::needs_exactly_one_rank, ranks, 1};
    return {};
  }

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int micro_batches, Writer& put) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      put(op::forward, rank, micro_batch);
      put(op::backward, rank, micro_batch);
    }
  }

  /// From the first micro-batches on, each further one is one more F, B on every rank.
  [[nodiscard]] static constexpr repetition repeats(int /*ranks*/, int /*micro_batches*/) { return {1, 1}; }

  /// In micro-batches of one stage.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int /*ranks*/, int /*micro_batches*/) { return 1; }

  /// Of one rank against the makespan, in the unit of the durations.
  [[nodiscard]] static constexpr double idle(int /*ranks*/, int /*micro_batches*/, double /*forward*/,
                                             double /*backward*/) {
    return 0.0;
  }
};

static_assert(serial::check(1, 4).legal() && serial::check(2, 4).nearest == 1);

}  // namespace weft::inline v1::schedule
