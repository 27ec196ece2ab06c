// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule {

namespace detail {

/// Rows that grow while all ranks advance together; see `passes::insert_posts`.
class post_insertion {
 public:
  explicit constexpr post_insertion(program_view const& view)
      : from(view),
        lines(view),
        rows(view.ranks()),
        size(view.ranks()),
        position(view.ranks()),
        ran(view.stages() * view.graph.copies * view.micro_batches) {
    for (int rank = 0; rank < from.ranks(); ++rank) rows[rank] = buffer<action>(capacity(rank));
  }

  /// False where the table itself is stuck; its rows then hold what could be placed.
  constexpr bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < from.ranks(); ++rank) {
        row_view const row = from.row(rank);
        if (position[rank] == row.size) continue;
        action const* const cells = row.actions + position[rank];
        int const count = is_pair(cells, row.size - position[rank]) ? 2 : 1;
        if (!is_ready(cells[0]) || !is_ready(cells[count - 1])) continue;
        for (int index = 0; index < count; ++index)
          if (cells[index].what != op::none) put(rank, cells[index]);
        for (int index = 0; index < count; ++index) place_posts(rank, cells[index]);
        position[rank] += count;
        moved = true;
      }
    }
    for (int rank = 0; rank < from.ranks(); ++rank)
      if (position[rank] != from.row(rank).size) return false;
    return true;
  }

  [[nodiscard]] constexpr program write() const {
    int total = 0;
    for (int const each : size) total += each;
    program result = passes::like(from, total);
    for (int rank = 0; rank < from.ranks(); ++rank) {
      for (int index = 0; index < size[rank]; ++index) result.append(rows[rank][index]);
      result.end_row();
    }
    return result;
  }

 private:
  [[nodiscard]] constexpr int capacity(int rank) const {
    int most = from.row(rank).size;
    for (int which = 0; which < from.stages() * from.graph.copies; ++which)
      if (from.graph.rank_of_stage[which] == rank) most += 4 * lines.degree * from.micro_batches;
    return most;
  }

  [[nodiscard]] constexpr int item_of(int copy, int stage, std::uint32_t micro_batch) const {
    return (copy * from.stages() + stage) * from.micro_batches + static_cast<int>(micro_batch);
  }

  /// The stages that an action reads from have run; on another rank their message has been placed with them.
  [[nodiscard]] constexpr bool is_ready(action const& cell) const {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return true;
    int const first = forward ? lines.in_begin[cell.stage] : lines.out_begin[cell.stage];
    int const last = forward ? lines.in_begin[cell.stage + 1] : lines.out_begin[cell.stage + 1];
    for (int index = first; index < last; ++index) {
      topology::edge const line = from.graph.edges[forward ? lines.in_edges[index] : index];
      int const other = forward ? line.source : line.destination;
      if ((ran[item_of(cell.copy, other, cell.micro_batch)] & (forward ? 1 : 2)) == 0) return false;
    }
    return true;
  }

  constexpr void put(int rank, action const& cell) { rows[rank][size[rank]++] = cell; }

  /// Halves of a fused pair stay side by side: one step, and the posts of both behind it.
  [[nodiscard]] static constexpr bool is_pair(action const* cells, int left) {
    return left > 1 && cells[0].part == parts::fused_forward && cells[1].part == parts::fused_backward;
  }

  constexpr void place_posts(int rank, action const& cell) {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return;
    unsigned char& state = ran[item_of(cell.copy, cell.stage, cell.micro_batch)];
    state = static_cast<unsigned char>(state | (forward ? 1 : 2));
    int const which = cell.copy * from.stages() + cell.stage;
    for (int edge = 0; edge < lines.degree; ++edge) {
      int const channel = lines.posts(which, forward ? 0 : 2)[edge] - 1;
      if (channel < 0) continue;
      topology::edge const line = from.graph.edges[channel / 2 % from.graph.edge_count];
      int const other = forward ? line.destination : line.source;
      put(rank, post(forward ? op::send_forward : op::send_backward, cell, cell.stage, edge));
      int const other_which = cell.copy * from.stages() + other;
      int ordinal = 0;
      while (lines.posts(other_which, forward ? 1 : 3)[ordinal] - 1 != channel) ++ordinal;
      put(from.graph.rank_of(other, cell.copy),
          post(forward ? op::receive_forward : op::receive_backward, cell, other, ordinal));
    }
  }

  [[nodiscard]] static constexpr action post(op what, action const& like, int stage, int ordinal) {
    action result = make_action(what, stage, static_cast<int>(like.micro_batch));
    result.copy = like.copy;
    result.group = static_cast<std::uint8_t>(ordinal);
    return result;
  }

  program_view from;
  channels<> lines;
  buffer<buffer<action>> rows;
  buffer<int> size;
  buffer<int> position;
  buffer<unsigned char> ran;  ///< [item]: bit 1 forward, bit 2 backward
};

}  // namespace detail

namespace passes {

/// Adds posts to a table of compute actions: a send right behind the action that makes the message, and its receive
/// where the receiving rank stands at that moment, when all ranks advance in turns, one action each (a fused pair is
/// one action). Receives stand early then, often long before their use; `defer_receives` and `hoist_receives` move
/// them. A table that deadlocks comes back as far as it could be played.
///
///     F0 F1 .. B0 .. B1    becomes    F0 SEND_F0 F1 SEND_F1 RECV_B0 B0 RECV_B1 B1
///     .. F0 B0 F1 B1 ..               RECV_F0 RECV_F1 F0 B0 SEND_B0 F1 B1 SEND_B1
constexpr program insert_posts(program_view const& from) {
  detail::post_insertion work(from);
  work.run();
  return work.write();
}

}  // namespace passes

}  // namespace weft::inline v1::schedule
