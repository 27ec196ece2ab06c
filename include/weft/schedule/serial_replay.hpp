// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/stage_graph.hpp>

#include <string>

namespace weft::inline v1::schedule {

namespace detail {

/// Every stage on rank 0, once.
struct on_one_rank {
  static constexpr int copies = 1;
  [[nodiscard]] static constexpr int rank_of(int /*stage*/, int /*copy*/, int /*ranks*/) { return 0; }
};

}  // namespace detail

/// The table of one rank that adds up every stage's weight gradients in the same order as another program does on its
/// ranks: the serial run that it has the bits of. A schedule that adds in ascending order has those of `serial` itself;
/// one that walks downwards (looped breadth-first, a table of the user's own), or differently from stage to stage, has
/// these.
///
///     rank 0  0F0 1F0 0F1 1F1 1B1 1B0 0B1 0B0     of two stages whose backwards go downwards
///
/// It has the stages of `from`, so that each may have an order of its own: B of the last one, then of the one before.
/// Of two copies of the model, copy 0's come first; what belongs together is then `token_batch::groups` = 2. All
/// activations are alive at once. Throws for asynchronous programs, whose gradients are never added up.
constexpr program serial_replay(program_view const& from) {
  if (from.work.asynchronous)
    throw error("weft::schedule::serial_replay: '" + std::string(from.name) +
                "' steps between its backwards, so there is no order of additions to replay; give a synchronous "
                "program");
  int const stages = from.stages();
  topology::stage_graph graph = topology::stage_graph::copy_of(from.graph);
  graph.place(detail::on_one_rank{}, 1);
  work_set work;
  work.backward = from.work.backward;
  work.frozen_prefix_stages = from.work.frozen_prefix_stages;
  program table("replay", static_cast<topology::stage_graph&&>(graph), from.micro_batches, work,
                2 * stages * from.micro_batches);
  for (int micro_batch = 0; micro_batch < from.micro_batches; ++micro_batch)
    for (int stage = 0; stage < stages; ++stage) table.append(make_action(op::forward, stage, micro_batch));
  for (int stage = stages - 1; stage >= work.frozen_prefix_stages && work.backward; --stage)
    for (int copy = 0; copy < from.graph.copies; ++copy)
      for (action const& each : from.row(from.graph.rank_of(stage, copy)))
        if (traits_of(each.what).makes_weight_gradient && each.stage == stage && each.copy == copy)
          table.append(make_action(op::backward, stage, static_cast<int>(each.micro_batch)));
  table.end_row();
  return table;
}

}  // namespace weft::inline v1::schedule
