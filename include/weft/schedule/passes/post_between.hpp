// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule::passes {

/// The post of `stage` about the boundary between it and `other`, in either direction: a forward message travels from
/// the lower stage to the higher one, its gradient back. `op::none` where the graph has no such edge; nothing in weft
/// takes for granted that stage s talks to s - 1 and s + 1 alone.
constexpr action post_between(topology::stage_graph_view const& graph, int stage, int other, int micro_batch,
                              bool is_send, int copy = 0) {
  bool const is_source = stage < other;
  int ordinal = 0;
  for (int index = 0; index < graph.edge_count; ++index) {
    topology::edge const line = graph.edges[index];
    if ((is_source ? line.source : line.destination) != stage) continue;
    if ((is_source ? line.destination : line.source) == other) {
      // The lower end sends forwards and receives gradients.
      op const what = is_source ? (is_send ? op::send_forward : op::receive_backward)
                                : (is_send ? op::send_backward : op::receive_forward);
      action result = make_action(what, stage, micro_batch);
      result.copy = static_cast<std::uint8_t>(copy);
      result.group = static_cast<std::uint8_t>(ordinal);
      return result;
    }
    ++ordinal;
  }
  return {};
}

}  // namespace weft::inline v1::schedule::passes
