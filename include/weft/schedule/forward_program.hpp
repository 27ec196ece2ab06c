// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/program.hpp>

namespace weft::inline v1::schedule {

/// Evaluation beside a training program: forwards alone on the same graph and placement, lowered and played. Each rank
/// runs the stages it holds in ascending order, micro-batch after micro-batch. `in_issue_order`: receives are posted at
/// their use, for doors that ask for it (`transport::endpoint::keeps_issue_order`).
inline program forward_program(program_view const& training, int micro_batches, bool in_issue_order = false) {
  program table("forward_only", topology::stage_graph::copy_of(training.graph), micro_batches,
                work_set{.forward = true, .backward = false}, training.stages() * micro_batches);
  for (int rank = 0; rank < training.ranks(); ++rank) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
      for (int stage = 0; stage < training.stages(); ++stage)
        if (training.graph.rank_of(stage) == rank) table.append(make_action(op::forward, stage, micro_batch));
    table.end_row();
  }
  return make_program(table.view(), {.receives = in_issue_order ? receive_time::at_use : receive_time::early});
}

}  // namespace weft::inline v1::schedule
