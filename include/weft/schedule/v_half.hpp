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

/// `zero_bubble_v` with about half the memory: no rank keeps more than p + 2 activations of its 2 p stages. A
/// heuristic: ranks take what is ready in a fixed order of preference, W when nothing else is; of two such orders the
/// shorter one, at equal durations, is written.
///
///     rank 0  0F0 0F1 0F2 3F0 3I0 3W0 3F1 0I0 3I1 0W0 3W1 3F2 3I2 0I1 3W2 0I2 0F3 0W1 0W2 3F3 3I3 3W3 ... 0I3 0W3
///     rank 1  ... 1F0 2F0 1F1 2F1 2I0 1I0 2W0 1W0 1F2 2F2 2I1 1I1 2I2 1I2 2W1 1W1 1F3 2F3 2W2 1W2 2I3 1I3 2W3 1W3
///
/// (p = 2, M = 4: stage, pass, micro-batch)
///
/// * peak activations: at most min(p + 2, 2 M), in micro-batches of one stage (`memory_limit`)
/// * idle time per rank: about half of 1F1B's; no closed form (`idle` plays the table)
/// * moves M activations and M gradients over each of 2 p - 2 boundaries; the one at the turn stays on its rank
///
/// No deadlock, whatever M: a slot of the limit is kept free for the second stage of the oldest micro-batch, which can
/// so always run to its end.
///
/// Use it where zero_bubble_v does not fit. Not where it does: it idles less.
/// Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, for the idea; the order is weft's own.
struct v_half {
 private:  // first, since clang must have seen `play` when the formulas below make it a constant
  /// The passes of a rank: of its first stage (chunk 0) and of its second.
  enum pass : unsigned char { forward_0, forward_1, input_0, input_1, weight };

  /// An order of preference, and how many activations each chunk may keep on rank r: 1/100 (first + slope r).
  struct variant {
    pass preferred[4];
    int chunk_0[2];
    int chunk_1[2];
  };

  /// Found by search over shapes of 2 to 16 ranks.
  static constexpr variant variant_of(int which, int ranks) {
    if (which == 0) return {{forward_1, input_0, forward_0, input_1}, {100 * ranks + 100, -25}, {200, 50}};
    return {{forward_0, forward_1, input_1, input_0}, {100 * ranks + 38, -28}, {275, 72}};
  }

  static constexpr int at_least_one(int number) { return number < 1 ? 1 : number; }

  /// Plays one variant with passes of equal length; returns its makespan.
  template <class Writer>
  static constexpr int play(int ranks, int micro_batches, int which, Writer& put) {
    variant const rule = variant_of(which, ranks);
    int const limit = memory_limit(ranks);
    detail::unit_clock clock(2 * ranks, micro_batches);
    weft::detail::buffer<pass> last(ranks);
    for (pass& each : last) each = weight;
    weft::detail::buffer<pass> chosen(ranks);
    weft::detail::buffer<bool> runs(ranks);
    weft::detail::buffer<int> waiting(ranks * 2 * micro_batches);  // stages of I without W, in order
    weft::detail::buffer<int> first_waiting(ranks);
    weft::detail::buffer<int> end_waiting(ranks);
    int now = 0;
    for (int left = 6 * ranks * micro_batches; left > 0; ++now) {
      for (int rank = 0; rank < ranks; ++rank) {
        int const stage[2] = {rank, 2 * ranks - 1 - rank};
        int const kept[2] = {clock.kept(stage[0]), clock.kept(stage[1])};
        int const most[2] = {at_least_one((rule.chunk_0[0] + rule.chunk_0[1] * rank) / 100),
                             at_least_one((rule.chunk_1[0] + rule.chunk_1[1] * rank) / 100)};
        auto const ready = [&](pass what) {
          int const chunk = what == forward_1 || what == input_1 ? 1 : 0;
          if (what == input_0 || what == input_1) return clock.can_backward(stage[chunk], now);
          int const free_slots = limit - kept[0] - kept[1] - (chunk == 0 ? 1 : 0);
          return free_slots > 0 && kept[chunk] < most[chunk] && clock.can_forward(stage[chunk], now);
        };
        runs[rank] = false;
        for (int index = 0; index < 4; ++index) {
          pass const what = rule.preferred[index];
          if (!ready(what)) continue;
          bool const again = !runs[rank] && what == last[rank];  // not the same pass twice where another is ready
          chosen[rank] = what;
          runs[rank] = true;
          if (!again) break;
        }
        if (!runs[rank] && first_waiting[rank] < end_waiting[rank]) {
          chosen[rank] = weight;
          runs[rank] = true;
        }
      }
      for (int rank = 0; rank < ranks; ++rank) {
        if (!runs[rank]) continue;
        --left;
        pass const what = chosen[rank];
        last[rank] = what;
        int* const queue = waiting.data() + rank * 2 * micro_batches;
        if (what == weight) {
          int const stage = queue[first_waiting[rank]++];
          put(rank, op::backward_weight, stage, clock.weight(stage));
          continue;
        }
        int const stage = what == forward_0 || what == input_0 ? rank : 2 * ranks - 1 - rank;
        if (what == forward_0 || what == forward_1) {
          put(rank, op::forward, stage, clock.forward(stage, now + 1));
        } else {
          put(rank, op::backward_input, stage, clock.backward(stage, now + 1));
          queue[end_waiting[rank]++] = stage;
        }
      }
    }
    return now;
  }

 public:
  static constexpr char const* name = "v-half";
  using placement = topology::placement::v;
  static constexpr int chunks = 2;
  static constexpr bool splits_backward = true;
  static constexpr work_set work{};

  /// Any number of ranks and micro-batches.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return check_at_least_one(ranks, micro_batches, chunks);
  }

  /// The most activations that a rank may keep, in micro-batches of one stage.
  [[nodiscard]] static constexpr int memory_limit(int ranks) { return ranks + 2; }

  template <class Writer>
  static constexpr void write_table(int ranks, int micro_batches, Writer& put) {
    detail::no_writer nothing;
    int const first = play(ranks, micro_batches, 0, nothing);
    int const second = play(ranks, micro_batches, 1, nothing);
    play(ranks, micro_batches, second < first ? 1 : 0, put);
  }

  /// In micro-batches of one stage, over both chunks of the rank.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    return detail::played_peak(v_half{}, rank, ranks, micro_batches);
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    return detail::played_idle(v_half{}, ranks, micro_batches, forward, input, weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

static_assert(v_half::check(4, 2).legal() && v_half::check(4, 0).nearest == 1 && v_half::memory_limit(8) == 10);

}  // namespace weft::inline v1::schedule
