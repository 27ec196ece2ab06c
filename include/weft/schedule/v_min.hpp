// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/detail/unit_clock.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

/// `zero_bubble_v` with about a third of the memory: a micro-batch runs down the ranks, back up, and its gradients the
/// same way without a stop, and the next follows six passes later; W takes the two places of six that are left.
///
///     rank 0  0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 0I0 3W1 0W0 0F3 3F2 3I2 0I1 3W2 0W1 ... 3F3 3I3 0I2 3W3 0W2 ... 0I3 0W3
///     rank 1  ... 1F0 2F0 1F1 2F1 2I0 2W0 1I0 2I1 2W1 1F2 2F2 1W0 1I1 2I2 2W2 1F3 2F3 1W1 1I2 2I3 2W3 1W2 1I3 1W3 ...
///
/// (p = 2, M = 4: stage, pass, micro-batch)
///
/// An idle place is filled with what comes next and is ready, within the memory limit.
///
/// * peak activations: at most min(2 floor((p + 4) / 3), 2 M), in micro-batches of one stage (`memory_limit`)
/// * with equal durations T: idle time per rank at most (4 p - 4) T; no closed form (`idle` plays the table)
/// * moves M activations and M gradients over each of 2 p - 2 boundaries; the one at the turn stays on its rank
///
/// Use it where nothing else fits. Not where F, I and W differ much: every wait is passed on.
/// Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362.
struct v_min {
  static constexpr char const* name = "v-min";
  using placement = topology::placement::v;
  static constexpr int chunks = 2;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches, chunks);
  }

  /// The most activations that a rank may keep, in micro-batches of one stage.
  [[nodiscard]] static constexpr int memory_limit(int ranks) { return 2 * ((ranks + 4) / 3); }

  template <class Writer>
  static constexpr void write_table(int ranks, int micro_batches, Writer& put) {
    weft::detail::buffer<place> places(6 * micro_batches * ranks);
    int const count = 6 * micro_batches;
    for (int rank = 0; rank < ranks; ++rank) plan_row(rank, ranks, micro_batches, places.data() + rank * count);

    int const limit = memory_limit(ranks);
    detail::unit_clock clock(2 * ranks, micro_batches);
    weft::detail::buffer<int> begin(ranks);  // places before it are done
    weft::detail::buffer<int> chosen(ranks);
    int now = 0;
    for (int left = count * ranks; left > 0; ++now) {
      for (int rank = 0; rank < ranks; ++rank) {
        place const* const row = places.data() + rank * count;
        int kept = clock.kept(rank) + clock.kept(2 * ranks - 1 - rank);
        int most = kept;  // activations kept in the places passed over
        int seen = 0;
        chosen[rank] = -1;
        for (int index = begin[rank]; index < count && seen < look_ahead; ++index) {
          if (row[index].done) continue;
          ++seen;
          op const what = row[index].what;
          if (is_ready(clock, row[index], now) && (what != op::forward || (most < limit && kept < limit))) {
            chosen[rank] = index;
            break;
          }
          kept += what == op::forward ? 1 : what == op::backward_weight ? -1 : 0;
          if (kept > most) most = kept;
        }
      }
      for (int rank = 0; rank < ranks; ++rank) {
        if (chosen[rank] < 0) continue;
        --left;
        place* const row = places.data() + rank * count;
        place& taken = row[chosen[rank]];
        taken.done = true;
        while (begin[rank] < count && row[begin[rank]].done) ++begin[rank];
        if (taken.what == op::forward)
          clock.forward(taken.stage, now + 1);
        else if (taken.what == op::backward_input)
          clock.backward(taken.stage, now + 1);
        else
          clock.weight(taken.stage);
        put(rank, taken.what, taken.stage, taken.micro_batch);
      }
    }
  }

  /// In micro-batches of one stage, over both chunks of the rank.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    return detail::played_peak(v_min{}, rank, ranks, micro_batches);
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    return detail::played_idle(v_min{}, ranks, micro_batches, forward, input, weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }

 private:
  static constexpr int look_ahead = 12;  ///< two micro-batches' worth

  struct place {
    op what = op::none;
    int stage = 0;
    int micro_batch = 0;
    bool done = false;
  };

  /// The next micro-batch of its stage, with its inputs there.
  static constexpr bool is_ready(detail::unit_clock const& clock, place const& next, int now) {
    if (next.what == op::forward)
      return clock.forwards(next.stage) == next.micro_batch && clock.can_forward(next.stage, now);
    if (next.what == op::backward_input)
      return clock.backwards(next.stage) == next.micro_batch && clock.can_backward(next.stage, now);
    return clock.weights(next.stage) == next.micro_batch && clock.can_weight(next.stage, now);
  }

  /// A rank's passes in the order of their times in the pattern: F of stage s at s, I behind the last F, both one stage
  /// a time; the gaps keep the four passes of a rank apart modulo 6, which needs 2 more where 3 divides p.
  static constexpr void plan_row(int rank, int ranks, int micro_batches, place* row) {
    int const turn = ranks % 3 == 0 ? 2 : 0;    // between the last F and the first I
    int const second = ranks % 3 == 2 ? 4 : 0;  // between the I of the two halves
    int const low = rank;
    int const high = 2 * ranks - 1 - rank;
    int const begin[6] = {
        low, high, 2 * ranks + turn + (2 * ranks - 1 - high), 2 * ranks + turn + second + (2 * ranks - 1 - low), 0, 0};
    op const what[6] = {op::forward,        op::forward,         op::backward_input,
                        op::backward_input, op::backward_weight, op::backward_weight};
    int const stage[6] = {low, high, high, low, high, low};
    int times[6] = {begin[0], begin[1], begin[2], begin[3], 0, 0};
    // W: the two places that are left, each behind its I; of the two ways the one that frees memory sooner.
    int open[2] = {};
    int found = 0;
    for (int residue = 0; residue < 6; ++residue) {
      bool taken = false;
      for (int pass = 0; pass < 4; ++pass) taken = taken || begin[pass] % 6 == residue;
      if (!taken && found < 2) open[found++] = residue;
    }
    auto const behind = [](int time, int residue) { return time + 1 + (residue + 11 - time % 6) % 6; };
    int const straight = behind(begin[2], open[0]) + behind(begin[3], open[1]);
    int const crossed = behind(begin[2], open[1]) + behind(begin[3], open[0]);
    int const swap = crossed < straight ? 1 : 0;
    times[4] = behind(begin[2], open[swap]);
    times[5] = behind(begin[3], open[1 - swap]);
    // Merge the six streams, each six apart.
    int next[6] = {};
    for (int index = 0; index < 6 * micro_batches; ++index) {
      int earliest = -1;
      for (int pass = 0; pass < 6; ++pass) {
        if (next[pass] == micro_batches) continue;
        if (earliest < 0 || times[pass] + 6 * next[pass] < times[earliest] + 6 * next[earliest]) earliest = pass;
      }
      row[index] = place{what[earliest], stage[earliest], next[earliest]++, false};
    }
  }
};

static_assert(v_min::check(4, 2).legal() && v_min::check(4, 0).nearest == 1);
static_assert(v_min::memory_limit(4) == 4 && v_min::memory_limit(8) == 8);

}  // namespace weft::inline v1::schedule
