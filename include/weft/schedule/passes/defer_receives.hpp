// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule::passes {

/// Moves every receive to just before the action that reads it (before the R in front of that action, too).
///
///     RECV_F0 RECV_F1 F0 B0 SEND_B0 F1 B1 SEND_B1   becomes   RECV_F0 F0 B0 SEND_B0 RECV_F1 F1 B1 SEND_B1
///
/// So no pending receive stands in front of a compute action that does not need it. The receives of one edge keep their
/// order, which is the sender's: one that is read early takes those before it along. Slots are void afterwards; call
/// `assign_slots`.
constexpr program defer_receives(program_view const& from) {
  detail::channels<> const lines(from);
  int const count = from.micro_batches;
  program result = like(from, action_count(from));
  weft::detail::buffer<int> order(lines.count() * count);  // [channel][k]: index in its row of the k-th receive
  weft::detail::buffer<int> received(lines.count());       // receives of a channel found in the row
  weft::detail::buffer<int> posted(lines.count());         // and written so far
  weft::detail::buffer<int> ordinal(lines.count() * count);
  for (int rank = 0; rank < from.ranks(); ++rank) {
    row_view const row = from.row(rank);
    for (int index = 0; index < row.size; ++index) {
      action const& cell = row[index];
      if (!detail::is_post(cell) || detail::is_send(cell)) continue;
      int const channel = lines.channel_of(cell);
      order[channel * count + received[channel]++] = index;
      ordinal[channel * count + static_cast<int>(cell.micro_batch)] = received[channel];
    }
    for (int index = 0; index < row.size; ++index) {
      action const& cell = row[index];
      if (detail::is_post(cell) && !detail::is_send(cell)) continue;
      // An R stands in front of the backward that it serves.
      bool const served = cell.what == op::recompute && index + 1 < row.size && row[index + 1].stage == cell.stage &&
                          row[index + 1].micro_batch == cell.micro_batch;
      op const reader = served ? row[index + 1].what : cell.what;
      if (reader == op::forward || reader == op::backward || reader == op::backward_input) {
        int const which = cell.copy * from.stages() + cell.stage;
        for (int group = 0; group < lines.degree; ++group) {
          int const channel = lines.posts(which, reader == op::forward ? 1 : 3)[group] - 1;
          if (channel < 0) continue;
          int const wanted = ordinal[channel * count + static_cast<int>(cell.micro_batch)];
          while (posted[channel] < wanted) result.append(row[order[channel * count + posted[channel]++]]);
        }
      }
      result.append(cell);
    }
    result.end_row();
  }
  return result;
}

}  // namespace weft::inline v1::schedule::passes
