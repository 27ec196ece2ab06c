// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// `send_model::in_issue_order`: every rank has one queue. A run of neighbouring posts is a group (what NCCL is told
/// between group start and group end); groups start one after the other, each when the one before has ended, and end as
/// a whole: what one of them brings is there when all of it has ended.
class issue_queues {
 public:
  constexpr issue_queues() = default;
  explicit constexpr issue_queues(program_view const& view)
      : program(view),
        begin(view.ranks()),
        end(view.ranks()),
        open(view.ranks()),
        complete(2 * view.graph.edge_count * view.graph.copies * view.micro_batches),
        group_of_send(complete.size()),
        group_of_receive(complete.size()) {}

  /// Starts the next groups of a rank's queue as far as its row has issued them (`position`); true if one started.
  template <class State>
  constexpr bool drain(State const& state, int rank, int position) {
    bool moved = false;
    row_view const row = program.row(rank);
    while (open[rank] == 0) {
      int next = end[rank];
      while (next < row.size && !is_post(row[next])) ++next;
      int last = next;
      while (last < row.size && is_post(row[last])) ++last;
      if (next == last || position < last) return moved;
      begin[rank] = next;
      end[rank] = last;
      moved = true;
      for (int index = next; index < last; ++index) {
        action const& cell = row[index];
        bool const outgoing = is_send(cell);
        int const channel = state.lines.channel_of(cell);
        int const message = channel * program.micro_batches + static_cast<int>(cell.micro_batch);
        complete[message] = static_cast<unsigned char>(complete[message] | (outgoing ? 1 : 2));
        (outgoing ? group_of_send : group_of_receive)[message] = place{rank, next};
        if (complete[message] != 3)
          ++open[rank];
        else
          --open[state.peer_of(cell, channel)];
      }
    }
    return moved;
  }

  [[nodiscard]] constexpr bool has_sent(int message) const {
    return complete[message] == 3 && has_ended(group_of_send[message]);
  }
  [[nodiscard]] constexpr bool has_received(int message) const {
    return complete[message] == 3 && has_ended(group_of_receive[message]);
  }

 private:
  struct place {
    int rank = 0;
    int begin = 0;
  };

  [[nodiscard]] constexpr bool has_ended(place group) const {
    return open[group.rank] == 0 || group.begin < begin[group.rank];
  }

  program_view program;

 public:
  buffer<int> begin;               ///< [rank]: the group that runs, as positions in its row
  buffer<int> end;                 ///< [rank]: behind it
  buffer<int> open;                ///< [rank]: its posts whose message has not moved
  buffer<unsigned char> complete;  ///< [message]: bit 1 send started, bit 2 receive started

 private:
  buffer<place> group_of_send;
  buffer<place> group_of_receive;
};

}  // namespace weft::inline v1::schedule::detail
