// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule::detail {

/// Edges inside a rank need no messages, but the same buffers: the engine takes the lowest free one at the producer's
/// action and frees it where a received one would be. How many that are, per stage.
class local_edges {
 public:
  constexpr local_edges(program_view const& program, channels<> const& graph_lines)
      : from(program),
        lines(graph_lines),
        kept(program.stages() * program.graph.copies),
        contexts(kept.size()) {
    buffer<int> alive(kept.size());
    buffer<int> waiting(kept.size());
    for (int rank = 0; rank < from.ranks(); ++rank)
      for (action const& cell : from.row(rank)) {
        int const which = cell.copy * from.stages() + cell.stage;
        if (cell.what == op::forward && has_backward(cell.stage) && ++alive[which] > kept[which])
          kept[which] = alive[which];
        if (cell.what == op::backward || cell.what == op::backward_weight) --alive[which];
        if (cell.what == op::backward_input && ++waiting[which] > contexts[which]) contexts[which] = waiting[which];
        if (cell.what == op::backward_weight) --waiting[which];
      }
  }

  /// Raises the receive slots of a stage to what its edges inside the rank need.
  constexpr void count(int which, slot_counts& found, int receive_ahead) const {
    int const copy = which / from.stages();
    int const stage = which % from.stages();
    int const edges = from.graph.edge_count;
    int const forward = cap((kept[which] > 0 ? kept[which] : 1) + receive_ahead);
    int const backward = cap(2 + contexts[which]);
    for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index)
      if (!lines.crosses[copy * edges + lines.in_edges[index]] && forward > found.receive_forward)
        found.receive_forward = forward;
    for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge)
      if (has_backward(stage) && !lines.crosses[copy * edges + edge] && backward > found.receive_backward)
        found.receive_backward = backward;
  }

 private:
  [[nodiscard]] constexpr bool has_backward(int stage) const {
    return from.work.backward && stage >= from.work.frozen_prefix_stages;
  }
  [[nodiscard]] constexpr int cap(int wanted) const {
    return wanted < from.micro_batches ? wanted : from.micro_batches;
  }

  program_view from;
  channels<> const& lines;
  buffer<int> kept;      ///< [stage]: the most micro-batches between F and their last backward
  buffer<int> contexts;  ///< [stage]: the most between I and W
};

}  // namespace weft::inline v1::schedule::detail
