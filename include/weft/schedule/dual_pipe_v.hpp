// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/dual_pipe_row.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// DualPipe cut in half: what its second copy did, the second chunk of each rank does (rank r holds stages r and
/// 2 p - 1 - r), so that one model is enough, and p need not be even.
///
///     rank 0  0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3 3B1) (3F2 0B0) 3B2 (3F3 0B1) 3B3 0I2 0W2 0I3 0W3        p = 2, M = 4
///     rank 1  1F0 2F0 1F1 2F1 1F2 2B0 (2F2 1B0) (1F3 2B1) (2F3 1B1) 2B2 1B2 2I3 1I3 2W3 1W3
///
/// (stage, pass, micro-batch; pairs in brackets are overlapped)
///
/// * peak activations of every rank: 2 p + 1, in micro-batches of one stage
/// * idle time per rank: (p - 1)(T_F&B + T_B - 3 T_W), T of one stage; with nothing gained by overlapping
///   (T_F&B = T_F + T_B) and T_W <= T_I <= T_F it is (p - 1)(2 T_F + T_I - T_W), otherwise there is no closed form
///   (`idle` plays the table)
/// * moves M activations and M gradients over each of 2 p - 2 boundaries; the one at the turn stays on its rank
///
/// Use it where communication inside a stage (experts) is long enough to be hidden behind another pass. Not otherwise:
/// zero_bubble_v idles less and keeps less.
/// DeepSeek-AI, DualPipe (its DualPipeV is cut-in-half DualPipe as Sea AI Lab proposed it).
struct dual_pipe_v {
  static constexpr char const* name = "dualpipe-v";
  using placement = topology::placement::v;
  static constexpr int chunks = 2;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks, and two micro-batches or more for each.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    if (validity const found = check_at_least_one(ranks, micro_batches, chunks); !found.legal()) return found;
    if (micro_batches < 2 * ranks) return {rule::micro_batches_per_rank, micro_batches, 2 * ranks};
    return {};
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    detail::stream const there{.stage = rank};
    detail::stream const back{.stage = 2 * ranks - 1 - rank};
    detail::dual_pipe_row<Writer> row(put, there, back);
    row.write(rank, ranks, micro_batches);
  }

  /// From 2 p micro-batches on, each further one is one more overlapped pair of passes in either direction.
  [[nodiscard]] static constexpr repetition repeats(int ranks, int /*micro_batches*/) { return {2 * ranks, 1}; }

  /// In micro-batches of one stage, over both chunks of the rank.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int ranks, int /*micro_batches*/) {
    return 2 * ranks + 1;
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    if (weight <= input && input <= forward) return (ranks - 1) * (2.0 * forward + input - weight);
    return detail::played_idle(dual_pipe_v{}, ranks, micro_batches, forward, input, weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(dual_pipe_v::check(3, 6).legal() && dual_pipe_v::check(3, 5).nearest == 6);
static_assert(dual_pipe_v::idle(4, 8, 1.0, 1.0, 1.0) == 6.0 && dual_pipe_v::peak_activations(0, 4, 8) == 9);

}  // namespace weft::inline v1::schedule
