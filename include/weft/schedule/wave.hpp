// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/detail/unit_clock.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

namespace weft::inline v1::schedule {

namespace detail {

constexpr int wave_stage(int chunk, int rank, int ranks) {
  return chunk * ranks + (chunk % 2 == 0 ? rank : ranks - 1 - rank);
}

/// Plays one variant with B twice as long as F; returns its makespan. Of the forwards that are ready the one of the
/// last stage runs, of the backwards the one of the first stage or (odd variants) of the last; variants 2 and 3 let
/// no more than 2 p - 1 micro-batches in.
template <class Writer>
constexpr int play_waves(int chunks, int ranks, int micro_batches, int which, Writer& put) {
  bool const first_of_backwards = which % 2 == 0;
  int const entered_at_most = which < 2 ? micro_batches : 2 * ranks - 1;
  int const stages = chunks * ranks;
  unit_clock clock(stages, micro_batches);
  weft::detail::buffer<int> busy_until(ranks);
  weft::detail::buffer<int> kept(ranks);
  weft::detail::buffer<int> chosen(ranks);  // stage, or -1
  weft::detail::buffer<bool> forward(ranks);
  int last = 0;
  int left = 2 * stages * micro_batches;
  for (int now = 0; left > 0; ++now) {
    for (int rank = 0; rank < ranks; ++rank) {
      chosen[rank] = -1;
      if (busy_until[rank] > now) continue;
      for (int index = 0; index < chunks && chosen[rank] < 0; ++index) {
        int const stage = wave_stage(first_of_backwards ? index : chunks - 1 - index, rank, ranks);
        if (!clock.can_backward(stage, now)) continue;
        chosen[rank] = stage;
        forward[rank] = false;
      }
      for (int chunk = chunks - 1; chunk >= 0 && chosen[rank] < 0; --chunk) {
        // What the oldest micro-batch will need on this rank stays free, so that it can always run to its end.
        if (kept[rank] >= ranks * chunks - (chunks - 1 - chunk)) continue;
        int const stage = wave_stage(chunk, rank, ranks);
        if (!clock.can_forward(stage, now)) continue;
        if (stage == 0 && clock.kept(0) >= entered_at_most) continue;
        chosen[rank] = stage;
        forward[rank] = true;
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      int const stage = chosen[rank];
      if (stage < 0) continue;
      --left;
      busy_until[rank] = now + (forward[rank] ? 1 : 2);
      if (busy_until[rank] > last) last = busy_until[rank];
      kept[rank] += forward[rank] ? 1 : -1;
      if (forward[rank]) {
        put(rank, op::forward, stage, clock.forward(stage, now + 1));
      } else {
        put(rank, op::backward, stage, clock.backward(stage, now + 2));
        clock.weight(stage);
      }
    }
  }
  return last;
}

}  // namespace detail

/// `wave` with the number of waves that comes at run time.
struct wave_values {
  static constexpr char const* name = "wave";
  using placement = topology::placement::wave;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{};
  int waves = 1;
  int chunks = 2;

  [[nodiscard]] static constexpr wave_values of(shape const& chosen) {
    int const waves = chosen.waves != 0 ? chosen.waves : chosen.chunks != 0 ? chosen.chunks / 2 : 1;
    return {waves, chosen.chunks != 0 ? chosen.chunks : 2 * waves};
  }

  /// Any number of ranks, micro-batches and waves; a wave is two chunks.
  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    if (chunks % 2 != 0) return {rule::needs_even_chunks, chunks, chunks + 1};
    if (waves < 1) return {rule::needs_a_wave, waves, 1};
    if (chunks != 2 * waves) return {rule::chunks_are_fixed, chunks, 2 * waves};
    return check_at_least_one(ranks, micro_batches, chunks);
  }

  /// The most activations that a rank may keep, in micro-batches of one stage: what 1F1B's first rank keeps.
  [[nodiscard]] constexpr int memory_limit(int ranks) const { return ranks * chunks; }

  template <class Writer>
  constexpr void write_table(int ranks, int micro_batches, Writer& put) const {
    detail::no_writer nothing;
    int best = 0;
    int shortest = 0;
    for (int which = 0; which < 4; ++which) {
      int const makespan = detail::play_waves(chunks, ranks, micro_batches, which, nothing);
      if (which > 0 && makespan >= shortest) continue;
      shortest = makespan;
      best = which;
    }
    detail::play_waves(chunks, ranks, micro_batches, best, put);
  }

  /// In micro-batches of one stage, over all chunks of the rank.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    return detail::played_peak(*this, rank, ranks, micro_batches);
  }

  /// Of one rank against the makespan, in the unit of the durations (of one stage), with no time for hops.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return detail::played_idle(*this, ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

/// Hanayo: the stages lie in waves, down the ranks and up again, `Waves` times, so that a micro-batch meets every rank
/// often and the pipeline fills in short passes, without a second copy of the model. Ranks run a backward where one is
/// ready, as in 1F1B, else a forward.
///
///     rank 0  0F0 0F1 ... 3F0 3B0 --- 3F1 3B1 --- ... 0B0 --- ... ... 0B1 ---       p = 2, one wave, M = 2
///     rank 1  ... 1F0 2F0 1F1 2F1 ... 2B0 --- 1B0 --- 2B1 --- 1B1 --- ... ...       (stage, pass, micro-batch)
///
/// * 2 p Waves stages, 2 Waves chunks per rank
/// * peak activations: at most min(p, M) chunks, in micro-batches of one stage: as 1F1B's first rank, on every rank
/// * idle time per rank: no closed form (`idle` plays the table). With B = 2 F and M = p, as a share of all time:
///   4 ranks .333, .213 and .119 for 1, 2 and 4 waves
/// * moves M activations and M gradients over each of 2 p Waves - 1 boundaries but the turns, which stay on their rank
///
/// A heuristic: of four orders of preference the shortest one, at B = 2 F, is written. No deadlock, whatever M: memory
/// for what the oldest micro-batch still needs is never given to another.
///
/// Use it with about as many micro-batches as ranks and fast links. Not with many: interleaved 1F1B idles less then.
/// Liu et al., Hanayo, arXiv 2308.15762.
template <int Waves>
struct wave : fixed<wave_values{Waves, 2 * Waves}> {};

static_assert(wave<2>::chunks == 4 && wave<2>::check(4, 3).legal() && wave<0>::check(4, 3).nearest == 1);

}  // namespace weft::inline v1::schedule
