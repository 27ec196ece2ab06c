// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/play_state.hpp>

namespace weft::inline v1::schedule::detail {

/// Whether each directed pair of ranks sends and receives in one order over all its edges; a transport without tags
/// needs it. Says so in `found`, and makes it a defect under `in_issue_order`.
template <class Store>
constexpr void check_pairs(play_state<Store> const& state, verdict& found) {
  program_view const& program = state.program;
  channels<Store> const& lines = state.lines;
  int const ranks = state.ranks;
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
    total += user[pair] * state.micro_batches;
  }
  buffer<int> sends(total);
  buffer<action const*> receives(total);
  buffer<int> sends_of(ranks * ranks);
  buffer<int> receives_of(ranks * ranks);
  auto const message_of = [&](action const& cell) {
    return lines.channel_of(cell) * state.micro_batches + static_cast<int>(cell.micro_batch) + 1;
  };
  for (int rank = 0; rank < ranks; ++rank)
    for (action const& cell : program.row(rank)) {
      if (!is_post(cell)) continue;
      int const peer = state.peer_of(cell, lines.channel_of(cell));
      if (is_send(cell))
        sends[begin[rank * ranks + peer] + sends_of[rank * ranks + peer]++] = message_of(cell);
      else
        receives[begin[peer * ranks + rank] + receives_of[peer * ranks + rank]++] = &cell;
    }
  for (int pair = 0; pair < ranks * ranks; ++pair)
    for (int index = begin[pair]; index < begin[pair] + receives_of[pair]; ++index) {
      if (sends[index] == message_of(*receives[index])) continue;
      found.pair_order_matches = false;
      if (state.model != send_model::in_issue_order) return;
      int const rank = pair % ranks;
      defect_report report{program, found};
      report.at(defect::pair_mismatch, rank, receives[index], pair / ranks, index - begin[pair]);
      found = report.found;
      return;
    }
}

}  // namespace weft::inline v1::schedule::detail
