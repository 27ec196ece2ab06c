// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft::inline v1::schedule::detail {

/// Posts in front of VALIDATE, by channel. Messages of a channel keep their order, so that numbers of them say which.
struct early_posts {
  explicit constexpr early_posts(program_view const& program)
      : lines(program),
        sent(lines.count()),
        received(lines.count()) {
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (action const& cell : program.row(rank)) {
        if (cell.what == op::validate) break;
        if (is_post(cell)) ++(is_send(cell) ? sent : received)[lines.channel_of(cell)];
      }
  }

  channels<> lines;
  weft::detail::buffer<int> sent;
  weft::detail::buffer<int> received;
};

/// A redo plays what stands before VALIDATE once more, on all ranks, after it has taken in the messages that were sent
/// there the first time. So VALIDATE must be a clean cut through all rows: nothing before it, on any rank, may be about
/// a message that is sent behind another rank's. Then every F before it has its input from before it, too, and a redo
/// needs nothing that comes later.
template <class Scanner>
constexpr void check_validation(Scanner& scan) {
  early_posts const early(scan.program);
  for (int rank = 0; rank < scan.program.ranks(); ++rank) {
    row_view const row = scan.program.row(rank);
    for (action const& cell : row) {
      if (cell.what == op::validate) break;
      if (!is_post(cell) || is_send(cell)) continue;
      int const channel = early.lines.channel_of(cell);
      int const message = channel * scan.micro_batches + static_cast<int>(cell.micro_batch);
      if (scan.received[message] <= early.sent[channel]) continue;
      topology::edge const line = scan.program.graph.edges[channel / 2 % scan.program.graph.edge_count];
      scan.report.at(defect::receive_too_early, rank, &cell,
                     scan.program.graph.rank_of(line.source == cell.stage ? line.destination : line.source, cell.copy));
    }
  }
}

}  // namespace weft::inline v1::schedule::detail
