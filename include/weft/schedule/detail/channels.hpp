// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule {

/// The tag of a message: edge, direction (0 forward, 1 backward) and model copy, nothing else. The order of messages
/// on one edge tells micro-batches apart, so tags stay small (MPI promises no more than 32,767).
constexpr int message_tag(int edge, bool forward, int copy, int edge_count) {
  return 2 * (copy * edge_count + edge) + (forward ? 0 : 1);
}

inline constexpr int largest_legal_tag = 32767;

}  // namespace weft::inline v1::schedule

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// The graph as lookups: which edges enter and leave a stage, in graph order, and whether they cross ranks.
/// A `channel` is one direction of one edge of one copy, and its number is its tag.
struct channels {
  explicit constexpr channels(topology::stage_graph_view const& view)
      : graph(view),
        out_begin(view.stages + 1),
        in_begin(view.stages + 1),
        in_edges(view.edge_count),
        crosses(view.edge_count * view.copies) {
    for (int edge = 0; edge < view.edge_count; ++edge) {
      ++out_begin[view.edges[edge].source + 1];
      ++in_begin[view.edges[edge].destination + 1];
    }
    for (int stage = 0; stage < view.stages; ++stage) {
      out_begin[stage + 1] += out_begin[stage];
      in_begin[stage + 1] += in_begin[stage];
    }
    buffer<int> next(in_begin);
    for (int edge = 0; edge < view.edge_count; ++edge) in_edges[next[view.edges[edge].destination]++] = edge;
    for (int copy = 0; copy < view.copies; ++copy)
      for (int edge = 0; edge < view.edge_count; ++edge)
        crosses[copy * view.edge_count + edge] = view.rank_of(view.edges[edge].source, copy) !=
                                                 view.rank_of(view.edges[edge].destination, copy);
  }

  [[nodiscard]] constexpr int count() const { return 2 * graph.edge_count * graph.copies; }

  topology::stage_graph_view graph;
  buffer<int> out_begin;  ///< edges of stage s: [out_begin[s], out_begin[s + 1]), since edges are ordered by source
  buffer<int> in_begin;
  buffer<int> in_edges;   ///< edges into stage s: in_edges[in_begin[s] .. in_begin[s + 1])
  buffer<bool> crosses;   ///< [copy * edge_count + edge]
};

}  // namespace weft::inline v1::schedule::detail
