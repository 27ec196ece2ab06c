// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/issue_queues.hpp>
#include <weft/schedule/detail/meetings.hpp>
#include <weft/schedule/detail/scan.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft::inline v1::schedule::detail {

/// What a rank waits for: an action of another rank, found again when a deadlock is explained.
struct wait {
  int peer = -1;
  op what = op::none;
  int stage = -1;
  int copy = 0;
  int micro_batch = -1;
};

/// How far every rank has come, and what keeps it from going on.
template <class Store = dynamic_store>
class play_state {
 public:
  constexpr play_state(scanner<Store> const& scanned, send_model rules)
      : scan(scanned),
        model(rules),
        program(scanned.program),
        lines(scanned.lines),
        ranks(program.ranks()),
        micro_batches(program.micro_batches),
        position(ranks),
        sent(lines.count()),
        received(lines.count()),
        ran(scan.has_posts ? 0 : scan.done.size()),
        meet(program, scan.updates) {
    if (in_queues()) queues = issue_queues(program);
  }

  [[nodiscard]] constexpr bool in_queues() const { return model == send_model::in_issue_order && scan.has_posts; }

  [[nodiscard]] constexpr int item_of(int copy, int stage, int micro_batch) const {
    return (copy * program.graph.stages + stage) * micro_batches + micro_batch;
  }

  /// The rank at the other end of a post.
  [[nodiscard]] constexpr int peer_of(action const& cell, int channel) const {
    topology::edge const line = program.graph.edges[channel / 2 % program.graph.edge_count];
    return program.graph.rank_of(line.source == cell.stage ? line.destination : line.source, cell.copy);
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
      if (arrived(channel, message)) continue;
      if (why != nullptr) {
        topology::edge const line = program.graph.edges[edge];
        int const sender = forward ? line.source : line.destination;
        *why = wait{program.graph.rank_of(sender, cell.copy), forward ? op::send_forward : op::send_backward, sender,
                    cell.copy, micro_batch};
      }
      return true;
    }
    if (model == send_model::buffered) return false;
    // The send that last used the output slot: of a forward by the edges out of the stage.
    int const out_first = forward ? out_begin[stage] : in_begin[stage];
    int const out_last = forward ? out_begin[stage + 1] : in_begin[stage + 1];
    for (int index = out_first; index < out_last; ++index) {
      int const edge = forward ? index : lines.in_edges.data()[index];
      int const channel = 2 * (edges + edge) + (forward ? 0 : 1);
      int const before = scan.blocker.data()[channel * micro_batches + micro_batch];
      if (before == 0 || left(channel, channel * micro_batches + before - 1)) continue;
      if (why != nullptr) {
        topology::edge const line = program.graph.edges[edge];
        int const receiver = forward ? line.destination : line.source;
        *why = wait{program.graph.rank_of(receiver, cell.copy), forward ? op::receive_forward : op::receive_backward,
                    receiver, cell.copy, before - 1};
      }
      return true;
    }
    return false;
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

  /// The post that keeps a rank's queue from going on, or null.
  [[nodiscard]] constexpr action const* open_post(int rank) const {
    if (!in_queues() || queues.open[rank] == 0) return nullptr;
    row_view const row = program.row(rank);
    for (int index = queues.begin[rank]; index < queues.end[rank]; ++index) {
      int const message = lines.channel_of(row[index]) * micro_batches + static_cast<int>(row[index].micro_batch);
      if (queues.complete[message] != 3) return row.actions + index;
    }
    return nullptr;
  }

  /// What a rank that cannot move waits for.
  [[nodiscard]] constexpr wait reason(int rank) const {
    action const* const post = open_post(rank);
    if (post == nullptr && position[rank] == program.row(rank).size) return {};
    action const& cell = post != nullptr ? *post : program.row(rank)[position[rank]];
    wait why;
    if (is_post(cell)) {
      int const channel = lines.channel_of(cell);
      topology::edge const line = program.graph.edges[channel / 2 % program.graph.edge_count];
      bool const is_outgoing = is_send(cell);
      bool const forward = channel % 2 == 0;
      int const other = line.source == cell.stage ? line.destination : line.source;
      why = wait{program.graph.rank_of(other, cell.copy),
                 is_outgoing ? (forward ? op::receive_forward : op::receive_backward)
                             : (forward ? op::send_forward : op::send_backward),
                 other, cell.copy, static_cast<int>(cell.micro_batch)};
    } else if (meet.is_meeting(cell)) {
      why.peer = meet.absent(rank, cell);
      why.what = cell.what;
      why.stage = cell.stage;
      for (int which = program.stages() * program.graph.copies - 1; which >= 0; --which)
        if (program.graph.rank_of_stage[which] == why.peer && scan.updates.tied[which] > 0)
          why.stage = which % program.stages();
    } else if (scan.has_posts) {
      blocked(cell, &why);
    } else {
      table_blocked(cell, &why);
    }
    return why;
  }

 private:
  [[nodiscard]] constexpr bool arrived(int channel, int message) const {
    if (in_queues()) return queues.has_received(message);
    return scan.sent.data()[message] <= sent.data()[channel];
  }
  [[nodiscard]] constexpr bool left(int channel, int message) const {
    if (in_queues()) return queues.has_sent(message);
    return scan.received.data()[message] <= received.data()[channel];
  }

 public:
  scanner<Store> const& scan;
  send_model model;
  program_view program;
  channels<Store> const& lines;
  int ranks;
  int micro_batches;
  typename Store::template array<int, Store::ranks> position;
  typename Store::template array<int, Store::channels>
      sent;  ///< [channel]: messages sent so far; message k has gone when its ordinal is at most this
  typename Store::template array<int, Store::channels> received;  ///< [channel]: receives posted so far
  buffer<unsigned char> ran;  ///< tables without posts: bit 1 forward, bit 2 backward
  meetings meet;
  issue_queues queues;
};

}  // namespace weft::inline v1::schedule::detail
