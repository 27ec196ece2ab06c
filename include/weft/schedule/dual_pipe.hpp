// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/dual_pipe_row.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/detail/two_way.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// Two copies of the model that enter the pipeline at opposite ends, and in steady state a forward of one overlapped
/// with a backward of the other: while one computes, the other's messages (and its experts' dispatch) travel.
///
///     rank 0  0F0 0F1 0F2 3F4 3I4 3W4 3F5 (0F3 3B5) (3F6 0B0) 3B6 (3F7 0B1) 3B7 0I2 0W2 0I3 0W3        p = 4, M = 8
///     rank 1  1F0 2F4 1F1 2F5 1F2 2B4 (2F6 1B0) (1F3 2B5) (2F7 1B1) 2B6 1B2 2I7 1I3 2W7 1W3
///     rank 2  1F4 2F0 1F5 2F1 1F6 2B0 (2F2 1B4) (1F7 2B1) (2F3 1B5) 2B2 1B6 2I3 1I7 2W3 1W7
///     rank 3  0F4 0F5 0F6 3F0 3I0 3W0 3F1 (0F7 3B1) (3F2 0B4) 3B2 (3F3 0B5) 3B3 0I6 0W6 0I7 0W7
///
/// (stage, pass, micro-batch; pairs in brackets. Micro-batches 0 .. M / 2 - 1 are copy 0's, the others copy 1's, whose
/// stage s is on rank p - 1 - s.)
///
/// * weights: 2 models, one on each way; their gradients are added before the step
/// * peak activations of every rank: p + 1 micro-batches, over both copies
/// * idle time per rank: (p / 2 - 1)(T_F&B + T_B - 3 T_W) in the paper; with nothing gained by overlapping
///   (T_F&B = T_F + T_B) and T_W <= T_I <= T_F it is (p / 2 - 1)(2 T_F + T_I - T_W), otherwise there is no closed form
///   (`idle` plays the table)
/// * moves per boundary: M activations forward, M gradients back, half of them each way
///
/// Use it where communication inside a stage (experts) is long and memory holds two models. Not otherwise: dual_pipe_v
/// has the same order with one model. DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437, sec. 3.2.1.
struct dual_pipe {
  static constexpr char const* name = "dualpipe";
  using placement = topology::placement::two_way;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// An even number of ranks, an even number of micro-batches, two or more for each rank.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return detail::check_two_way(ranks, micro_batches, 2);
  }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int const half = micro_batches / 2;
    detail::stream const down{.stage = rank, .copy = 0, .first = 0};
    detail::stream const up{.stage = ranks - 1 - rank, .copy = 1, .first = half};
    bool const lower = rank < ranks / 2;
    detail::dual_pipe_row<Writer> row(put, lower ? down : up, lower ? up : down);
    row.write(detail::from_end(rank, ranks), ranks / 2, half);
  }

  /// In micro-batches of one stage, over both copies.
  [[nodiscard]] static constexpr int peak_activations(int /*rank*/, int ranks, int /*micro_batches*/) {
    return ranks + 1;
  }

  /// Of one rank against the makespan, in the unit of the durations, with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    if (weight <= input && input <= forward) return (ranks / 2 - 1) * (2.0 * forward + input - weight);
    return detail::played_idle(dual_pipe{}, ranks, micro_batches, forward, input, weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(dual_pipe::check(4, 8).legal() && dual_pipe::check(3, 8).nearest == 4);
static_assert(dual_pipe::check(4, 6).nearest == 8 && dual_pipe::check(4, 9).nearest == 10);
static_assert(dual_pipe::idle(4, 8, 1.0, 1.0, 1.0) == 2.0 && dual_pipe::peak_activations(0, 4, 8) == 5);

}  // namespace weft::inline v1::schedule
