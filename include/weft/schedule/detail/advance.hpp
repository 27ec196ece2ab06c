// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/accuse.hpp>
#include <weft/schedule/detail/pair_order.hpp>
#include <weft/schedule/detail/play_state.hpp>
#include <weft/schedule/detail/scan.hpp>

namespace weft::inline v1::schedule::detail {

/// The part of `play` that needs other ranks: advances every rank as far as it goes until all have ended or none can
/// move. `scan` has proved that every message has both ends, so that a rank which cannot move waits in a circle.
template <class Store = dynamic_store>
class player : public play_state<Store> {
 public:
  constexpr player(scanner<Store> const& scanned, send_model rules)
      : play_state<Store>(scanned, rules),
        limit(scanned.program.ranks()) {
    for (int rank = 0; rank < ranks; ++rank) limit[rank] = program.row(rank).size;
  }

  /// Until no rank can move, or each has come to its limit (at first, the end of its row); true in the second case.
  constexpr bool run() {
    bool const queued = this->in_queues();
    bool const plain = model == send_model::rendezvous || model == send_model::buffered;
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < ranks; ++rank) {
        if (queued && queues.drain(*this, rank, position[rank])) moved = true;
        int const before = position[rank];
        if (before == limit[rank]) continue;
        if (!scan.has_posts)
          advance_table(rank);
        else if (plain)
          advance_lowered(rank);
        else
          advance_slowly(rank);
        if (position[rank] != before) moved = true;
      }
    }
    for (int rank = 0; rank < ranks; ++rank)
      if (position[rank] != limit[rank] || (queued && queues.open[rank] != 0)) return false;
    return true;
  }

  /// The first rank that has not come to its end.
  [[nodiscard]] constexpr int stuck() const {
    int rank = 0;
    while (position[rank] == program.row(rank).size && (!this->in_queues() || queues.open[rank] == 0)) ++rank;
    return rank;
  }

  using play_state<Store>::scan;
  using play_state<Store>::model;
  using play_state<Store>::program;
  using play_state<Store>::lines;
  using play_state<Store>::ranks;
  using play_state<Store>::micro_batches;
  using play_state<Store>::sent;
  using play_state<Store>::received;
  using play_state<Store>::ran;
  using play_state<Store>::meet;
  using play_state<Store>::queues;
  using play_state<Store>::position;

 private:
  /// Under `buffered` and `rendezvous`, where posts never wait. In one place and on plain pointers, as `scan_row` is.
  constexpr void advance_lowered(int rank) {
    action const* const actions = program.row(rank).actions;
    int const size = limit[rank];
    int const count = micro_batches;
    int const degree = lines.degree;
    int const stages = program.graph.stages;
    bool const waits_for_slots = model != send_model::buffered;
    int const* const channel_of = lines.of_post.data();
    int const* const sent_as = scan.sent.data();
    int const* const received_as = scan.received.data();
    int const* const blocked_by = scan.blocker.data();
    int* const sends = sent.data();
    int* const receives = received.data();
    int here = position[rank];
    for (; here < size; ++here) {
      action const cell = actions[here];
      op const what = cell.what;
      int const which = cell.copy * stages + cell.stage;
      if (what >= op::send_forward && what <= op::receive_backward) {
        int const kind = static_cast<int>(what) - static_cast<int>(op::send_forward);
        int const channel = channel_of[(which * 4 + kind) * degree + cell.group] - 1;
        ++(kind % 2 == 0 ? sends : receives)[channel];
        continue;
      }
      if (what != op::forward && what != op::backward && what != op::backward_input) {
        if (what >= op::reduce_gradient && !meet.pass(rank, cell)) break;
        continue;
      }
      int const micro_batch = static_cast<int>(cell.micro_batch);
      int const out_kind = what == op::forward ? 0 : 2;  // SEND_F or SEND_B; what arrives is one before or after
      int const in_kind = what == op::forward ? 1 : 3;
      bool stuck = false;
      for (int group = 0; group < degree; ++group) {
        int const in = channel_of[(which * 4 + in_kind) * degree + group] - 1;
        if (in >= 0 && sent_as[in * count + micro_batch] > sends[in]) stuck = true;
        if (!waits_for_slots) continue;
        int const out = channel_of[(which * 4 + out_kind) * degree + group] - 1;
        if (out < 0) continue;
        int const before = blocked_by[out * count + micro_batch];
        if (before != 0 && received_as[out * count + before - 1] > receives[out]) stuck = true;
      }
      if (stuck) break;
    }
    position[rank] = here;
  }

  /// Under `blocking` and `in_issue_order`, which are asked for seldom.
  constexpr void advance_slowly(int rank) {
    row_view const row = program.row(rank);
    int here = position[rank];
    for (; here < limit[rank]; ++here) {
      action const& cell = row.actions[here];
      op const what = cell.what;
      if (is_post(cell)) {
        if (model == send_model::in_issue_order) continue;
        bool const is_outgoing = is_send(cell);
        int const channel = lines.channel_of(cell);
        int const message = channel * micro_batches + static_cast<int>(cell.micro_batch);
        int const ordinal = is_outgoing ? scan.sent[message] : scan.received[message];
        int& mine = is_outgoing ? sent[channel] : received[channel];
        if (mine < ordinal) mine = ordinal;
        if ((is_outgoing ? received[channel] : sent[channel]) < ordinal) break;
        continue;
      }
      if (what >= op::reduce_gradient && !meet.pass(rank, cell)) break;
      if ((what == op::forward || what == op::backward || what == op::backward_input) && this->blocked(cell, nullptr))
        break;
    }
    position[rank] = here;
  }

  constexpr void advance_table(int rank) {
    row_view const row = program.row(rank);
    int here = position[rank];
    for (; here < limit[rank]; ++here) {
      action const& cell = row.actions[here];
      if (this->table_blocked(cell, nullptr)) break;
      if (cell.what >= op::reduce_gradient && !meet.pass(rank, cell)) break;
      if (cell.what == op::forward || cell.what == op::backward || cell.what == op::backward_input)
        ran[this->item_of(cell.copy, cell.stage, static_cast<int>(cell.micro_batch))] |=
            cell.what == op::forward ? 1 : 2;
    }
    position[rank] = here;
  }

 public:
  typename Store::template array<int, Store::ranks> limit;  ///< [rank]: where to stop
};

/// Plays what was scanned; `found` is the scan's verdict and becomes the play's.
template <class Store>
constexpr void advance(scanner<Store> const& scan, verdict& found) {
  player<Store> play(scan, found.model);
  if (scan.has_posts) check_pairs(play, found);
  if (found.playable() && !play.run()) accuse(play, found, play.stuck());
}

}  // namespace weft::inline v1::schedule::detail
