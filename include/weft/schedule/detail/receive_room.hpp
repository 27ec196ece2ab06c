// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule::detail {

/// How many receive slots a channel needs so that no sender ever waits for one, however long passes take: when the pass
/// of a message begins, what its row has waited for until then must have freed that message's slot.
///
///     rank 0, stage s      F0 F1 F2 F3 .. .. B0 F4     F4's message takes the slot of message 0: stage s + 1 frees it
///     rank 1, stage s + 1     F0 .. F1 .. B0 F2 ..     before its B0 ends, and rank 0 had B0's gradient: 4 slots do
///
/// Where a rank has one stage, slots for the micro-batches in flight are enough; with several, messages wait while the
/// rank is busy with another stage. Looks at messages between the two ranks alone: what the sender knows by way of
/// others would save a slot here and there, and cost a clock per rank and message.
class receive_room {
 public:
  constexpr receive_room(program_view const& view, channels<> const& found)
      : table(view),
        lines(found),
        micro_batches(view.micro_batches),
        place(2 * view.graph.stages * view.graph.copies * micro_batches),
        freed_at(view.graph.stages * view.graph.copies * micro_batches),
        freed_count(view.graph.stages * view.graph.copies),
        passed(found.count()),
        sent(found.count()),
        needed(found.count()) {
    for (int rank = 0; rank < table.ranks(); ++rank) note(table.row(rank));
    buffer<int> known(table.ranks());
    for (int rank = 0; rank < table.ranks(); ++rank) {
      for (int& each : known) each = 0;
      count(table.row(rank), known.data());
    }
  }

  [[nodiscard]] constexpr int of(int channel) const { return needed[channel]; }

 private:
  /// Where the row runs its passes, and where it frees receive slots: after the last backward, or F where there is
  /// none.
  constexpr void note(row_view row) {
    int const stages = table.graph.stages;
    int const trained = table.work.backward ? table.work.frozen_prefix_stages : stages;
    for (int index = 0; index < row.size; ++index) {
      action const cell = row.actions[index];
      op const what = cell.what;
      bool const forward = what == op::forward;
      int const which = cell.copy * stages + cell.stage;
      if (forward || what == op::backward || what == op::backward_input)
        place.data()[(2 * which + (forward ? 0 : 1)) * micro_batches + static_cast<int>(cell.micro_batch)] = index + 1;
      bool const frees = cell.stage < trained ? forward : what == op::backward || what == op::backward_weight;
      if (frees && freed_count.data()[which] < micro_batches)
        freed_at.data()[which * micro_batches + freed_count.data()[which]++] = index;
    }
  }

  /// For each message that the row sends, how many lie before it in slots that need not be free. `known`: how far the
  /// other ranks must have come, by the messages that the row has waited for.
  constexpr void count(row_view row, int* known) {
    int const stages = table.graph.stages;
    int const* const in_begin = lines.in_begin.data();
    int const* const in_edges = lines.in_edges.data();
    int const* const out_begin = lines.out_begin.data();
    topology::edge const* const edges = table.graph.edges;
    int const* const rank_of = table.graph.rank_of_stage;
    for (int index = 0; index < row.size; ++index) {
      action const& cell = row.actions[index];
      op const what = cell.what;
      bool const forward = what == op::forward;
      if (!forward && what != op::backward && what != op::backward_input) continue;
      int const stage = cell.stage;
      int const first = cell.copy * stages;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      int const begin = forward ? in_begin[stage] : out_begin[stage];
      int const end = forward ? in_begin[stage + 1] : out_begin[stage + 1];
      for (int line = begin; line < end; ++line) {
        topology::edge const& from = edges[forward ? in_edges[line] : line];
        int const which = first + (forward ? from.source : from.destination);
        int const reached = place.data()[(2 * which + (forward ? 0 : 1)) * micro_batches + micro_batch];
        int& furthest = known[rank_of[which]];
        if (reached > furthest) furthest = reached;
      }
      int const* const out = lines.posts(first + stage, forward ? 0 : 2);
      for (int group = 0; group < lines.degree; ++group) {
        int const channel = out[group] - 1;
        if (channel < 0) continue;
        int const line = forward ? out_begin[stage] + group : in_edges[in_begin[stage] + group];
        int const which = first + (forward ? edges[line].destination : edges[line].source);
        int const reached = known[rank_of[which]];
        int const* const frees = freed_at.data() + which * micro_batches;
        int const all = freed_count.data()[which];
        int free_again = passed.data()[channel];
        while (free_again < all && frees[free_again] < reached) ++free_again;
        passed.data()[channel] = free_again;
        int const lying = ++sent.data()[channel] - free_again;
        if (lying > needed.data()[channel]) needed.data()[channel] = lying;
      }
    }
  }

  program_view table;
  channels<> const& lines;
  int micro_batches;
  buffer<int> place;     ///< [stage][F, or B and I][micro-batch]: position in its row + 1, or 0
  buffer<int> freed_at;  ///< [stage][k]: position of the k-th action that frees receive slots
  buffer<int> freed_count;
  buffer<int> passed;  ///< [channel]: of those, the ones that the sender has surely waited for
  buffer<int> sent;    ///< [channel]
  buffer<int> needed;  ///< [channel]
};

}  // namespace weft::inline v1::schedule::detail
