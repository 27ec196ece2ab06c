// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/store.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule::detail {

constexpr bool is_post(action const& cell) {
  return cell.what >= op::send_forward && cell.what <= op::receive_backward;
}
constexpr bool is_send(action const& cell) { return cell.what == op::send_forward || cell.what == op::send_backward; }

/// The graph as lookups: which edges enter and leave a stage, in graph order, and whether they cross ranks.
/// A `channel` is one direction of one edge of one copy, and its number is its tag.
template <class Store = dynamic_store>
struct channels {
  explicit constexpr channels(program_view const& program) : channels(program.graph, program.work) {}

  constexpr channels(topology::stage_graph_view const& view, work_set const& work)
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
    typename Store::template array<int, Store::stages + 1> next(in_begin);
    for (int edge = 0; edge < view.edge_count; ++edge) in_edges[next[view.edges[edge].destination]++] = edge;
    for (int copy = 0; copy < view.copies; ++copy)
      for (int edge = 0; edge < view.edge_count; ++edge)
        crosses[copy * view.edge_count + edge] =
            view.rank_of(view.edges[edge].source, copy) != view.rank_of(view.edges[edge].destination, copy);
    for (int wire = 0; wire < crosses.size(); ++wire)
      if (!crosses[wire]) has_local = true;
    for (int stage = 0; stage < view.stages; ++stage) {
      int const out = out_begin[stage + 1] - out_begin[stage];
      int const in = in_begin[stage + 1] - in_begin[stage];
      if (out > degree) degree = out;
      if (in > degree) degree = in;
    }
    of_post = typename Store::template array<int, Store::posts>(view.stages * view.copies * 4 * degree);
    for (int copy = 0; copy < view.copies; ++copy)
      for (int stage = 0; stage < view.stages; ++stage) {
        int* const own = of_post.data() + (copy * view.stages + stage) * 4 * degree;
        for (int edge = out_begin[stage]; edge < out_begin[stage + 1]; ++edge) {
          int const group = edge - out_begin[stage];
          own[group] = channel(edge, copy, true, work);
          own[3 * degree + group] = channel(edge, copy, false, work);
        }
        for (int index = in_begin[stage]; index < in_begin[stage + 1]; ++index) {
          int const group = index - in_begin[stage];
          own[degree + group] = channel(in_edges[index], copy, true, work);
          own[2 * degree + group] = channel(in_edges[index], copy, false, work);
        }
      }
  }

  [[nodiscard]] constexpr int count() const { return 2 * graph.edge_count * graph.copies; }

  /// 1 + channel of a post, by (copy * stages + stage), kind of post and ordinal; 0 where no message is due (no such
  /// edge, both ends on one rank, nothing trained before it). The kinds are SEND_F, RECV_F, SEND_B, RECV_B, as in
  /// op.hpp.
  [[nodiscard]] constexpr int const* posts(int which, int kind) const {
    return of_post.data() + (which * 4 + kind) * degree;
  }

  /// The channel of a post whose edge is known to exist.
  [[nodiscard]] constexpr int channel_of(action const& cell) const {
    bool const forward = cell.what == op::send_forward || cell.what == op::receive_forward;
    bool const by_out_edge = cell.what == op::send_forward || cell.what == op::receive_backward;
    int const edge = by_out_edge ? out_begin.data()[cell.stage] + cell.group
                                 : in_edges.data()[in_begin.data()[cell.stage] + cell.group];
    return message_tag(edge, forward, cell.copy, graph.edge_count);
  }

  topology::stage_graph_view graph;
  typename Store::template array<int, Store::stages + 1>
      out_begin;  ///< edges of stage s: [out_begin[s], out_begin[s + 1]), since edges are ordered by source
  typename Store::template array<int, Store::stages + 1> in_begin;
  typename Store::template array<int, Store::edges>
      in_edges;  ///< edges into stage s: in_edges[in_begin[s] .. in_begin[s + 1])
  typename Store::template array<bool, Store::wires> crosses;  ///< [copy * edge_count + edge]
  bool has_local = false;                                      ///< some edge stays on its rank
  int degree = 1;                                              ///< the most edges on one side of a stage
  typename Store::template array<int, Store::posts> of_post;   ///< see `posts`

 private:
  [[nodiscard]] constexpr int channel(int edge, int copy, bool forward, work_set const& work) const {
    int const wire = copy * graph.edge_count + edge;
    if (!crosses[wire]) return 0;
    if (!forward && (!work.backward || graph.edges[edge].source < work.frozen_prefix_stages)) return 0;
    return 2 * wire + (forward ? 0 : 1) + 1;
  }
};

static_assert(static_cast<int>(op::receive_forward) == static_cast<int>(op::send_forward) + 1 &&
              static_cast<int>(op::send_backward) == static_cast<int>(op::send_forward) + 2 &&
              static_cast<int>(op::receive_backward) == static_cast<int>(op::send_forward) + 3);

}  // namespace weft::inline v1::schedule::detail
