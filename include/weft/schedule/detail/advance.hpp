// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/scan.hpp>

namespace weft::inline v1::schedule::detail {

/// The part of `play` that needs other ranks: advances every rank as far as it goes until all have ended or none can
/// move. `scan` has proved that every message has both ends, so that a rank which cannot move waits in a circle.
/// Longer than most headers: four send models and the naming of a deadlock's culprit share one state.
template <class Store = dynamic_store>
class player {
 public:
  constexpr player(scanner<Store> const& scanned, verdict& result)
      : scan(scanned),
        found(result),
        program(scanned.program),
        lines(scanned.lines),
        ranks(program.ranks()),
        micro_batches(program.micro_batches),
        position(ranks),
        sent(lines.count()),
        received(lines.count()),
        ran(scan.has_posts ? 0 : scan.done.size()) {}

  constexpr void run() {
    bool const queues = found.model == send_model::in_issue_order && scan.has_posts;
    bool const plain = found.model == send_model::rendezvous || found.model == send_model::buffered;
    if (scan.has_posts) check_pairs();
    if (queues) prepare_queues();
    for (;;) {
      bool moved = false;
      int ended = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        int const before = position[rank];
        if (before == program.row(rank).size) {
          if (queues && drain(rank)) moved = true;
          ++ended;
          continue;
        }
        if (queues && drain(rank)) moved = true;
        if (!scan.has_posts)
          advance_table(rank);
        else if (plain)
          advance_lowered(rank);
        else
          advance_slowly(rank);
        if (position[rank] != before) moved = true;
      }
      if (ended == ranks && (!queues || !moved)) break;
      if (!moved) break;
    }
    for (int rank = 0; rank < ranks; ++rank)
      if (position[rank] != program.row(rank).size) return accuse(rank);
    if (queues)
      for (int rank = 0; rank < ranks; ++rank)
        if (open[rank] != 0) return accuse_queue(rank);
  }

 private:
  /// What a rank waits for: an action of another rank, found again when a deadlock is explained.
  struct wait {
    int peer = -1;
    op what = op::none;
    int stage = -1;
    int copy = 0;
    int micro_batch = -1;
  };

  /// Under `buffered` and `rendezvous`, where posts never wait. In one place and on plain pointers, as `scan_row` is.
  constexpr void advance_lowered(int rank) {
    row_view const row = program.row(rank);
    action const* const actions = row.actions;
    int const size = row.size;
    int const count = micro_batches;
    int const degree = lines.degree;
    int const stages = program.graph.stages;
    bool const waits_for_slots = found.model != send_model::buffered;
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
      if (what != op::forward && what != op::backward && what != op::backward_input) continue;
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
    send_model const model = found.model;
    int here = position[rank];
    for (; here < row.size; ++here) {
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
      if ((what == op::forward || what == op::backward || what == op::backward_input) && blocked(cell, nullptr)) break;
    }
    position[rank] = here;
  }

  constexpr void advance_table(int rank) {
    row_view const row = program.row(rank);
    int here = position[rank];
    for (; here < row.size; ++here) {
      action const& cell = row.actions[here];
      if (table_blocked(cell, nullptr)) break;
      if (cell.what == op::forward || cell.what == op::backward || cell.what == op::backward_input)
        ran[item_of(cell.copy, cell.stage, static_cast<int>(cell.micro_batch))] |= cell.what == op::forward ? 1 : 2;
    }
    position[rank] = here;
  }

  [[nodiscard]] constexpr int item_of(int copy, int stage, int micro_batch) const {
    return (copy * program.graph.stages + stage) * micro_batches + micro_batch;
  }

  /// Whether a compute action of a lowered program must wait, and for what.
  constexpr bool blocked(action const& cell, wait* why) const {
    bool const forward = cell.what == op::forward;
    int const stage = cell.stage;
    int const micro_batch = static_cast<int>(cell.micro_batch);
    int const edges = program.graph.edge_count * cell.copy;
    // Receives: of a forward by the edges into the stage, of a backward by those out of it.
    int const* const in_begin = lines.in_begin.data();
    int const* const out_begin = lines.out_begin.data();
    int const first = forward ? in_begin[stage] : out_begin[stage];
    int const last = forward ? in_begin[stage + 1] : out_begin[stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? lines.in_edges.data()[index] : index;
      int const channel = 2 * (edges + edge) + (forward ? 0 : 1);
      int const message = channel * micro_batches + micro_batch;
      if (scan.sent.data()[message] == 0) continue;  // inside this rank
      if (!arrived(channel, message)) {
        if (why != nullptr) {
          topology::edge const line = program.graph.edges[edge];
          int const sender = forward ? line.source : line.destination;
          *why = wait{program.graph.rank_of(sender, cell.copy), forward ? op::send_forward : op::send_backward, sender,
                      cell.copy, micro_batch};
        }
        return true;
      }
    }
    if (found.model == send_model::buffered) return false;
    // The send that last used the output slot: of a forward by the edges out of the stage.
    int const out_first = forward ? out_begin[stage] : in_begin[stage];
    int const out_last = forward ? out_begin[stage + 1] : in_begin[stage + 1];
    for (int index = out_first; index < out_last; ++index) {
      int const edge = forward ? index : lines.in_edges.data()[index];
      int const channel = 2 * (edges + edge) + (forward ? 0 : 1);
      int const before = scan.blocker.data()[channel * micro_batches + micro_batch];
      if (before == 0) continue;
      if (!left(channel, channel * micro_batches + before - 1)) {
        if (why != nullptr) {
          topology::edge const line = program.graph.edges[edge];
          int const receiver = forward ? line.destination : line.source;
          *why = wait{program.graph.rank_of(receiver, cell.copy), forward ? op::receive_forward : op::receive_backward,
                      receiver, cell.copy, before - 1};
        }
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] constexpr bool arrived(int channel, int message) const {
    if (found.model == send_model::in_issue_order) return complete[message] == 3;
    return scan.sent.data()[message] <= sent.data()[channel];
  }
  [[nodiscard]] constexpr bool left(int channel, int message) const {
    if (found.model == send_model::in_issue_order) return complete[message] == 3;
    return scan.received.data()[message] <= received.data()[channel];
  }

  /// The same for a table without posts: the producer has run.
  constexpr bool table_blocked(action const& cell, wait* why) const {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return false;
    int const first = forward ? lines.in_begin[cell.stage] : lines.out_begin[cell.stage];
    int const last = forward ? lines.in_begin[cell.stage + 1] : lines.out_begin[cell.stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? lines.in_edges[index] : index;
      topology::edge const line = program.graph.edges[edge];
      int const other = forward ? line.source : line.destination;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      if ((ran.data()[item_of(cell.copy, other, micro_batch)] & (forward ? 1 : 2)) != 0) continue;
      if (why != nullptr)
        *why = wait{program.graph.rank_of(other, cell.copy), forward ? op::forward : op::backward, other, cell.copy,
                    micro_batch};
      return true;
    }
    return false;
  }

  // --- in_issue_order: one queue per rank -------------------------------------------------------------------------

  constexpr void prepare_queues() {
    group_begin = typename Store::template array<int, Store::ranks>(ranks);
    open = typename Store::template array<int, Store::ranks>(ranks);
    complete = buffer<unsigned char>(lines.count() * micro_batches);
  }

  /// Starts the next group of a rank's queue once the group before has ended and the row has issued all of it.
  constexpr bool drain(int rank) {
    bool moved = false;
    row_view const row = program.row(rank);
    while (open[rank] == 0) {
      int begin = group_begin[rank];
      while (begin < row.size && !is_post(row[begin])) ++begin;
      int end = begin;
      while (end < row.size && is_post(row[end])) ++end;
      group_begin[rank] = begin;
      if (begin == end || position[rank] < end) return moved;
      group_begin[rank] = end;
      moved = true;
      for (int index = begin; index < end; ++index) {
        action const& cell = row[index];
        bool const is_outgoing = is_send(cell);
        int const channel = lines.channel_of(cell);
        int const message = channel * micro_batches + static_cast<int>(cell.micro_batch);
        complete[message] |= is_outgoing ? 1 : 2;
        if (complete[message] != 3)
          ++open[rank];
        else
          --open[peer_of(cell, channel)];
      }
    }
    return moved;
  }

  [[nodiscard]] constexpr int peer_of(action const& cell, int channel) const {
    topology::edge const line = program.graph.edges[channel / 2 % program.graph.edge_count];
    return program.graph.rank_of(line.source == cell.stage ? line.destination : line.source, cell.copy);
  }

  /// Whether each directed pair of ranks sends and receives in one order over all its edges.
  constexpr void check_pairs() {
    bool shared = false;  // with one edge and direction per pair, the order per edge says it all
    buffer<int> user(ranks * ranks);
    for (int channel = 0; channel < lines.count(); ++channel) {
      if (!lines.crosses[channel / 2]) continue;
      topology::edge const line = program.graph.edges[channel / 2 % program.graph.edge_count];
      int const copy = channel / 2 / program.graph.edge_count;
      int const from = program.graph.rank_of(channel % 2 == 0 ? line.source : line.destination, copy);
      int const into = program.graph.rank_of(channel % 2 == 0 ? line.destination : line.source, copy);
      if (user[from * ranks + into]++ > 0) shared = true;
    }
    if (!shared) return;
    buffer<int> begin(ranks * ranks + 1);
    int total = 0;
    for (int pair = 0; pair < ranks * ranks; ++pair) {
      begin[pair] = total;
      total += user[pair] * micro_batches;
    }
    buffer<int> sends(total);
    buffer<int> receives(total);
    buffer<int> sends_of(ranks * ranks);
    buffer<int> receives_of(ranks * ranks);
    for (int rank = 0; rank < ranks; ++rank)
      for (action const& cell : program.row(rank)) {
        if (!is_post(cell)) continue;
        bool const is_outgoing = is_send(cell);
        int const channel = lines.channel_of(cell);
        int const peer = peer_of(cell, channel);
        int const pair = is_outgoing ? rank * ranks + peer : peer * ranks + rank;
        int const message = channel * micro_batches + static_cast<int>(cell.micro_batch);
        (is_outgoing ? sends : receives)[begin[pair] + (is_outgoing ? sends_of : receives_of)[pair]++] = message;
      }
    for (int index = 0; index < total; ++index)
      if (sends[index] != receives[index]) found.pair_order_matches = false;
  }

  // --- deadlock ---------------------------------------------------------------------------------------------------

  /// What `rank` waits for at its position.
  [[nodiscard]] constexpr wait reason(int rank) const {
    action const& cell = program.row(rank)[position[rank]];
    wait why;
    if (!scan.has_posts) {
      table_blocked(cell, &why);
    } else if (is_post(cell)) {
      int const channel = lines.channel_of(cell);
      topology::edge const line = program.graph.edges[channel / 2 % program.graph.edge_count];
      bool const is_outgoing = is_send(cell);
      bool const forward = channel % 2 == 0;
      int const other = line.source == cell.stage ? line.destination : line.source;
      why = wait{program.graph.rank_of(other, cell.copy),
                 is_outgoing ? (forward ? op::receive_forward : op::receive_backward)
                             : (forward ? op::send_forward : op::send_backward),
                 other, cell.copy, static_cast<int>(cell.micro_batch)};
    } else {
      blocked(cell, &why);
    }
    return why;
  }

  /// Follows the chain of waits from a stuck rank into its circle. Of the ranks in the circle the one to blame is the
  /// one that owes the earliest work: a forward before a backward (which others can only run after forwards), then the
  /// lowest micro-batch, then the stage nearest to where the pass began. Its row has something in front of that work
  /// which needs the rest of the circle.
  constexpr void accuse(int rank) {
    for (int step = 0; step < ranks; ++step) rank = next_in_chain(rank);
    int const first = rank;
    int circle = 0;
    int victim = rank;
    wait best = reason(rank);
    do {
      wait const why = reason(rank);
      if (circle > 0 && earlier(why, best)) {
        best = why;
        victim = rank;
      }
      ++circle;
      rank = next_in_chain(rank);
    } while (rank != first);
    fill(best.peer, victim, best, circle);
  }

  [[nodiscard]] constexpr int next_in_chain(int rank) const {
    int const peer = reason(rank).peer;
    // A peer that has ended can only be waited for under queues: its posts stand behind a group that does not end.
    return peer >= 0 && position[peer] != program.row(peer).size ? peer : rank;
  }

  [[nodiscard]] static constexpr bool earlier(wait const& left, wait const& right) {
    bool const left_forward =
        left.what == op::forward || left.what == op::send_forward || left.what == op::receive_forward;
    bool const right_forward =
        right.what == op::forward || right.what == op::send_forward || right.what == op::receive_forward;
    if (left_forward != right_forward) return left_forward;
    if (left.micro_batch != right.micro_batch) return left.micro_batch < right.micro_batch;
    return left_forward ? left.stage < right.stage : left.stage > right.stage;
  }

  constexpr void fill(int culprit, int victim, wait const& why, int circle) {
    found.what = defect::deadlock;
    found.rank = culprit;
    found.peer = victim;
    row_view const row = program.row(culprit);
    found.position = position[culprit] < row.size ? position[culprit] : row.size - 1;
    action const& cell = row[found.position];
    found.action = cell.what;
    found.stage = cell.stage;
    found.micro_batch = static_cast<int>(cell.micro_batch);
    found.owed = why.what;
    found.owed_stage = why.stage;
    found.owed_micro_batch = why.micro_batch;
    found.limit = circle;
  }

  /// A queue that never empties although every row has been issued.
  constexpr void accuse_queue(int rank) {
    row_view const row = program.row(rank);
    int index = group_begin[rank] - 1;
    while (index > 0 &&
           complete[lines.channel_of(row[index]) * micro_batches + static_cast<int>(row[index].micro_batch)] == 3)
      --index;
    position[rank] = index;
    fill(reason(rank).peer, rank, reason(rank), 1);
  }

  scanner<Store> const& scan;
  verdict& found;
  program_view program;
  channels<Store> const& lines;
  int ranks;
  int micro_batches;
  typename Store::template array<int, Store::ranks> position;
  typename Store::template array<int, Store::channels>
      sent;  ///< [channel]: messages sent so far; message k has gone when its ordinal is at most this
  typename Store::template array<int, Store::channels> received;  ///< [channel]: receives posted so far
  buffer<unsigned char> ran;  ///< tables without posts: bit 1 forward, bit 2 backward
  typename Store::template array<int, Store::ranks> group_begin;
  typename Store::template array<int, Store::ranks> open;  ///< posts of the current group that have not completed
  buffer<unsigned char> complete;                          ///< [message]: bit 1 sent, bit 2 received, both active
};

/// Plays what was scanned; `found` is the scan's verdict and becomes the play's.
template <class Store>
constexpr void advance(scanner<Store> const& scan, verdict& found) {
  player<Store> play(scan, found);
  play.run();
}

}  // namespace weft::inline v1::schedule::detail
