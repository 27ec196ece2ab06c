// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/detail/two_way.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// Two copies of the model that enter the pipeline at opposite ends and fill each other's bubbles: a unit of p
/// micro-batches, half of them each way, is two merged 1F1B; more are units one after the other (direct concatenation),
/// the end of one interleaved with the beginning of the next.
///
///     rank 0  0F0 0F1 3F2 3B2 3F3 3B3 0B0 0B1       p = 4, M = 4 (stage, pass, micro-batch)
///     rank 1  1F0 2F2 1F1 2F3 2B2 1B0 2B3 1B1       copy 0 has micro-batches 0 .. M / 2 - 1; copy 1 the others,
///     rank 2  1F2 2F0 1F3 2F1 2B0 1B2 2B1 1B3       its stage s is on rank p - 1 - s
///     rank 3  0F2 0F3 3F0 3B0 3F1 3B1 0B2 0B3
///
/// * weights: 2 models, one on each way; their gradients are added before the step
/// * peak activations of rank r with M >= p: p / 2 + 1 + min(r, p - 1 - r), over both copies
/// * idle time per rank, where p divides M: (p - 2)(min(T_F, T_B) + M / p |T_F - T_B|), and so p - 2 passes where the
/// two
///   take equally long; otherwise there is no closed form (`idle` plays the table)
/// * moves per boundary: M activations forward, M gradients back, half of them each way
///
/// Use it with few micro-batches, recompute off and memory for two models. Not with many: with B twice as long as F
/// every unit adds to the bubble. Li and Hoefler, Chimera, arXiv 2107.06925.
struct chimera {
  static constexpr char const* name = "chimera";
  using placement = topology::placement::two_way;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};

  /// An even number of ranks and an even number of micro-batches: of a last unit that is not full, the micro-batches
  /// that do not exist are left out.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return detail::check_two_way(ranks, micro_batches, 0);
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const half = micro_batches / 2;
    int const place = detail::from_end(rank, ranks);
    int const alone = ranks / 2 - place;  // passes of the near stream before the far one arrives
    int const units = (micro_batches + ranks - 1) / ranks;
    int const near_copy = rank < ranks / 2 ? 0 : 1;
    int next[2][2] = {};  // [stream][forward, backward]
    auto const pass = [&](op what, int stream) {
      int const item = next[stream][what == op::forward ? 0 : 1]++;
      if (item >= half) return;
      int const copy = stream == 0 ? near_copy : 1 - near_copy;
      put(what, copy == 0 ? rank : ranks - 1 - rank, copy * half + item, copy);
    };
    for (int turn = 0; turn < alone; ++turn) pass(op::forward, 0);
    for (int unit = 0; unit < units; ++unit) {
      for (int turn = 0; turn < place; ++turn) {
        pass(op::forward, 1);
        pass(op::forward, 0);
      }
      for (int turn = 0; turn < alone; ++turn) {
        pass(op::forward, 1);
        pass(op::backward, 1);
      }
      for (int turn = 0; turn < place; ++turn) {
        pass(op::backward, 0);
        pass(op::backward, 1);
      }
      // The end of this unit and the beginning of the next fill each other's gaps.
      for (int turn = 0; turn < alone; ++turn) {
        pass(op::backward, 0);
        if (unit + 1 < units) pass(op::forward, 0);
      }
    }
  }

  /// In micro-batches of one stage, over both copies.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    if (micro_batches < ranks) return detail::played_peak(chimera{}, rank, ranks, micro_batches);
    return ranks / 2 + detail::from_end(rank, ranks) + 1;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    double const apart = forward < backward ? backward - forward : forward - backward;
    double const shorter = forward < backward ? forward : backward;
    if (micro_batches % ranks == 0) return (ranks - 2) * (shorter + micro_batches / ranks * apart);
    return detail::played_idle(chimera{}, ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(chimera::check(4, 6).legal() && chimera::check(4, 5).nearest == 6 && chimera::check(5, 4).nearest == 6);
static_assert(chimera::peak_activations(1, 4, 8) == 4 && chimera::idle(4, 8, 1.0, 2.0) == 6.0);

}  // namespace weft::inline v1::schedule
