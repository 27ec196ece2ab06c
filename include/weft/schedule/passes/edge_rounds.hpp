// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule::passes {

/// A directed pair of ranks between which messages travel, and the round in which its communicator is made.
struct rank_pair {
  int from = 0;
  int to = 0;
  int round = 0;

  friend constexpr bool operator==(rank_pair const&, rank_pair const&) = default;
};

/// In which order to make something that both ends of a pair must take part in (a communicator of two, a window): in
/// each round every rank meets at most one other, so that nobody waits in a circle. Greedy: pairs by their lower and
/// higher rank, upwards before downwards, each in the first round in which both are free. All ranks compute the same.
constexpr weft::detail::buffer<rank_pair> edge_rounds(topology::stage_graph_view const& graph) {
  int const ranks = graph.ranks;
  weft::detail::buffer<bool> meets(ranks * ranks);
  int count = 0;
  auto const note = [&](int from, int to) {
    if (from == to || meets[from * ranks + to]) return;
    meets[from * ranks + to] = true;
    ++count;
  };
  for (int copy = 0; copy < graph.copies; ++copy)
    for (int edge = 0; edge < graph.edge_count; ++edge) {
      int const source = graph.rank_of(graph.edges[edge].source, copy);
      int const destination = graph.rank_of(graph.edges[edge].destination, copy);
      note(source, destination);
      note(destination, source);
    }
  weft::detail::buffer<rank_pair> pairs(count);
  weft::detail::buffer<bool> busy(ranks * count);  // [round][rank]
  int made = 0;
  for (int low = 0; low < ranks; ++low)
    for (int high = low + 1; high < ranks; ++high)
      for (int back = 0; back < 2; ++back) {
        int const from = back == 0 ? low : high;
        int const to = back == 0 ? high : low;
        if (!meets[from * ranks + to]) continue;
        int round = 0;
        while (busy[round * ranks + from] || busy[round * ranks + to]) ++round;
        busy[round * ranks + from] = true;
        busy[round * ranks + to] = true;
        pairs[made++] = rank_pair{from, to, round};
      }
  return pairs;
}

}  // namespace weft::inline v1::schedule::passes
