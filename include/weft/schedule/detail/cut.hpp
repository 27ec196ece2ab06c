// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/advance.hpp>
#include <weft/schedule/detail/body_places.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/scan.hpp>

namespace weft::inline v1::schedule::detail {

/// Two cuts through a lowered program, one body apart on every rank, as positions in its rows.
struct cut_pair {
  explicit constexpr cut_pair(int ranks) : first(ranks), second(ranks), bodies(ranks) {}

  buffer<int> first;
  buffer<int> second;
  buffer<int> bodies;  ///< [rank]: how many in front of the first cut; ranks may be skewed
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
template <class Store>
class cut_state {
 public:
  constexpr cut_state(program_view const& view, channels<Store> const& known)
      : program(view),
        lines(&known),
        done(view.stages() * view.graph.copies * view.micro_batches),
        posted(known.count() * view.micro_batches),
        sends(known.count()),
        last(view.stages() * view.graph.copies) {
    for (int& each : last) each = -1;
  }

  /// Positions `begin` to `end` of one row.
  constexpr void see(row_view row, int begin, int end) {
    int const* const channel_of = lines->of_post.data();
    int const degree = lines->degree;
    int const stages = program.stages();
    int const count = program.micro_batches;
    for (int index = begin; index < end; ++index) {
      action const cell = row.actions[index];
      op const what = cell.what;
      int const which = cell.copy * stages + cell.stage;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      if (what >= op::send_forward && what <= op::receive_backward) {
        int const kind = static_cast<int>(what) - static_cast<int>(op::send_forward);
        int const channel = channel_of[(which * 4 + kind) * degree + cell.group] - 1;
        unsigned char& state = posted.data()[channel * count + micro_batch];
        state = static_cast<unsigned char>(state | (kind % 2 == 0 ? 1 : 2));
        if (kind % 2 == 0) ++sends.data()[channel];
        continue;
      }
      int const bit = what == op::forward           ? 1
                      : what == op::backward        ? 6
                      : what == op::backward_input  ? 2
                      : what == op::backward_weight ? 4
                      : what == op::recompute       ? 8
                                                    : 0;
      if (bit == 0) continue;
      unsigned char& state = done.data()[which * count + micro_batch];
      state = static_cast<unsigned char>(state | bit);
      if ((bit & 4) != 0) last.data()[which] = micro_batch;
    }
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
        for (int edge = 0; edge < lines->degree; ++edge) {
          int const channel = lines->posts(which, kind)[edge] - 1;
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
  channels<Store> const* lines;
  buffer<unsigned char> done;    ///< [stage][micro-batch]: F, I, W, R as bits
  buffer<unsigned char> posted;  ///< [channel][micro-batch]: send, receive as bits
  buffer<int> sends;             ///< [channel]
  buffer<int> last;              ///< [stage]: the micro-batch added to its gradient last
};

/// Takes a cut with `many` bodies in front of it, goes back by whole bodies on ranks that cannot come so far before the
/// others have come farther, and says whether it and the one a body later can be reached. `table` and `found` say where
/// bodies stand; `program` is the table lowered.
template <class Store>
constexpr bool reach(scanner<Store> const& scan, body_places const& found, int many, cut_pair& cuts) {
  program_view const& program = scan.program;
  int const ranks = program.ranks();
  for (int& each : cuts.bodies) each = many;
  auto const place = [&](buffer<int>& into, int rank, int bodies) {
    into[rank] = position_behind(program.row(rank), found.prologue[rank] + bodies * found.body[rank]);
  };
  for (int rank = 0; rank < ranks; ++rank) place(cuts.first, rank, many);
  for (bool settled = false; !settled;) {
    player<Store> play(scan, send_model::rendezvous);
    for (int rank = 0; rank < ranks; ++rank) play.limit[rank] = cuts.first[rank];
    settled = play.run();
    for (int rank = 0; rank < ranks && !settled; ++rank)
      while (cuts.first[rank] > play.position[rank]) {
        if (--cuts.bodies[rank] < 0) return false;
        place(cuts.first, rank, cuts.bodies[rank]);
      }
    if (!settled) continue;
    for (int rank = 0; rank < ranks; ++rank) {
      place(cuts.second, rank, cuts.bodies[rank] + 1);
      play.limit[rank] = cuts.second[rank];
    }
    return play.run();
  }
  return false;
}

}  // namespace weft::inline v1::schedule::detail
