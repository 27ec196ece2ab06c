// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/advance.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/scan.hpp>
#include <weft/schedule/detail/turns.hpp>

namespace weft::inline v1::schedule::detail {

/// Two cuts through a lowered program, one body apart on every rank, as positions in its rows.
struct cut_pair {
  explicit constexpr cut_pair(int ranks) : first(ranks), second(ranks), turn(ranks) {}

  buffer<int> first;
  buffer<int> second;
  buffer<int> turn;  ///< [rank]: bodies in front of the first cut; ranks may be skewed
};

/// Position in a lowered row behind its first `number` compute actions and the posts that follow the last of them (R
/// does not count: it belongs to the backward behind it).
constexpr int position_behind(row_view row, int number) {
  int index = 0;
  for (int seen = 0; index < row.size && seen < number; ++index) {
    op const what = row[index].what;
    if (what == op::forward || what == op::backward || what == op::backward_input || what == op::backward_weight)
      ++seen;
  }
  while (index < row.size && is_post(row[index])) ++index;
  return index;
}

/// What one body must leave as it found it, with all micro-batches shifted: which passes are done, which sends and
/// receives are posted, what was added to a gradient last.
class cut_state {
 public:
  explicit constexpr cut_state(program_view const& view)
      : program(view),
        lines(view),
        done(view.stages() * view.graph.copies * view.micro_batches),
        posted(lines.count() * view.micro_batches),
        sends(lines.count()),
        last(view.stages() * view.graph.copies) {
    for (int& each : last) each = -1;
  }

  constexpr void see(action const& cell) {
    if (is_post(cell)) {
      int const channel = lines.channel_of(cell);
      unsigned char& state = posted[channel * program.micro_batches + static_cast<int>(cell.micro_batch)];
      state = static_cast<unsigned char>(state | (is_send(cell) ? 1 : 2));
      if (is_send(cell)) ++sends[channel];
      return;
    }
    if (!traits_of(cell.what).is_compute) return;
    int const which = cell.copy * program.stages() + cell.stage;
    unsigned char& state = done[which * program.micro_batches + static_cast<int>(cell.micro_batch)];
    unsigned const bit = cell.what == op::backward ? 6U
                                                   : (cell.what == op::forward          ? 1U
                                                      : cell.what == op::backward_input ? 2U
                                                      : cell.what == op::recompute      ? 8U
                                                                                        : 4U);
    state = static_cast<unsigned char>(state | bit);
    if (traits_of(cell.what).makes_weight_gradient) last[which] = static_cast<int>(cell.micro_batch);
  }

  /// Whether `after` is this state with every micro-batch `step` larger, and the micro-batches below `step` complete.
  [[nodiscard]] constexpr bool leads_to(cut_state const& after, int step) const {
    int const count = program.micro_batches;
    for (int which = 0; which < last.size(); ++which) {
      bool const trained = program.work.backward && which % program.stages() >= program.work.frozen_prefix_stages;
      unsigned const all = trained ? (program.recomputes ? 15U : 7U) : 1U;
      if (!is_shifted_part(done.data() + which * count, after.done.data() + which * count, step, all)) return false;
      if (trained && (last[which] < 0 || after.last[which] != last[which] + step)) return false;
      for (int kind = 0; kind < 4; kind += 2)
        for (int edge = 0; edge < lines.degree; ++edge) {
          int const channel = lines.posts(which, kind)[edge] - 1;
          if (channel < 0) continue;
          if (!is_shifted_part(posted.data() + channel * count, after.posted.data() + channel * count, step, 3U))
            return false;
          // From here on every send waits for the one before it in its slot, in this body as in all later ones.
          slot_counts const& own = program.slots[which];
          if (sends[channel] < (kind == 0 ? own.send_forward : own.send_backward)) return false;
        }
    }
    return true;
  }

 private:
  [[nodiscard]] constexpr bool is_shifted_part(unsigned char const* before, unsigned char const* after, int step,
                                               unsigned complete) const {
    int const count = program.micro_batches;
    for (int micro_batch = 0; micro_batch < step; ++micro_batch)
      if (after[micro_batch] != complete || before[count - 1 - micro_batch] != 0) return false;
    for (int micro_batch = step; micro_batch < count; ++micro_batch)
      if (after[micro_batch] != before[micro_batch - step]) return false;
    return true;
  }

  program_view program;
  channels<> lines;
  buffer<unsigned char> done;    ///< [stage][micro-batch]: F, I, W, R as bits
  buffer<unsigned char> posted;  ///< [channel][micro-batch]: send, receive as bits
  buffer<int> sends;             ///< [channel]
  buffer<int> last;              ///< [stage]: the micro-batch added to its gradient last
};

/// Takes a cut with `turn` bodies in front of it, goes back by whole bodies on ranks that cannot come so far before the
/// others have come farther, and says whether it and the one a body later can be reached. `table` and `found` say where
/// bodies stand; `program` is the table lowered.
template <class Store>
constexpr bool reach(scanner<Store> const& scan, turns const& found, int turn, cut_pair& cuts) {
  program_view const& program = scan.program;
  int const ranks = program.ranks();
  for (int& each : cuts.turn) each = turn;
  auto const place = [&](buffer<int>& into, int rank, int bodies) {
    into[rank] = position_behind(program.row(rank), found.prologue[rank] + bodies * found.body[rank]);
  };
  for (int rank = 0; rank < ranks; ++rank) place(cuts.first, rank, turn);
  for (bool settled = false; !settled;) {
    player<Store> play(scan, send_model::rendezvous);
    for (int rank = 0; rank < ranks; ++rank) play.limit[rank] = cuts.first[rank];
    settled = play.run();
    for (int rank = 0; rank < ranks && !settled; ++rank)
      while (cuts.first[rank] > play.position[rank]) {
        if (--cuts.turn[rank] < 0) return false;
        place(cuts.first, rank, cuts.turn[rank]);
      }
    if (!settled) continue;
    for (int rank = 0; rank < ranks; ++rank) {
      place(cuts.second, rank, cuts.turn[rank] + 1);
      play.limit[rank] = cuts.second[rank];
    }
    return play.run();
  }
  return false;
}

}  // namespace weft::inline v1::schedule::detail
