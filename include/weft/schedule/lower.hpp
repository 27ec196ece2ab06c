// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/lowering.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/schedule/passes/assign_slots.hpp>
#include <weft/schedule/passes/defer_receives.hpp>
#include <weft/schedule/passes/hoist_receives.hpp>
#include <weft/schedule/passes/post_validate.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/write_table.hpp>

namespace weft::inline v1::schedule {

/// Turns a table into a program the engine can play: posts, slots, and the end of a step. Of the table only F, B, I and
/// W count; what else it holds is written anew. Does not check the table and does not play the result; `lower` does.
constexpr program lower_once(program_view const& table, lower_options const& options = {}) {
  detail::lowering work(table, options);
  for (;;) {
    program result(table.name, topology::stage_graph::copy_of(table.graph), table.micro_batches, table.work,
                   work.action_count());
    if (!work.write(result)) continue;
    bool const validates = options.norm == norm_kind::post_validated;
    if (options.receives == receive_time::early) {
      if (!validates) return result;
      return passes::post_validate(result.view());
    }
    program const deferred = passes::defer_receives(result.view());
    program const ordered = passes::hoist_receives(deferred.view(), options.send_slots);
    program slotted = passes::assign_slots(ordered.view(), options.send_slots);
    if (!validates) return slotted;
    return passes::post_validate(slotted.view());
  }
}

/// Room for a policy's lowered program, by counting: no table is written for it.
template <class Policy>
constexpr table_size lowered_size(int ranks, int micro_batches, lower_options const& options = {}) {
  topology::stage_graph const graph =
      topology::stage_graph::chain(stages_of(Policy{}, ranks)).place(typename Policy::placement{}, ranks);
  detail::channels<> const lines(graph.view(), Policy::work);
  int const stages = graph.view().stages * graph.view().copies;
  int posts = 0;  // of one micro-batch, which is the business of one copy alone
  for (int const channel : lines.of_post) posts += channel != 0;
  posts /= graph.view().copies;
  int const backward = !Policy::work.backward ? 0 : (Policy::splits_backward ? 2 : 1) + (options.recompute ? 1 : 0);
  int const ends = Policy::work.backward ? 4 * stages + 2 * ranks : 0;
  return table_size{ranks, graph.view().stages, graph.view().copies, graph.view().edge_count,
                    micro_batches * (graph.view().stages * (1 + backward) + posts) + ends};
}

/// What to try after a deadlock with `slots` send slots.
constexpr int more_send_slots(int slots, int micro_batches) {
  return 2 * slots < micro_batches ? 2 * slots : micro_batches;
}

/// `lower_once` with as many send slots as it takes to play under `model`: raises `options.send_slots`. `proof`
/// receives the verdict of that play; a program that no number of slots can save comes back with its verdict too.
constexpr program lower_for(program_view const& table, lower_options& options, send_model model, verdict& proof) {
  for (;; options.send_slots = more_send_slots(options.send_slots, table.micro_batches)) {
    program result = lower_once(table, options);
    proof = play(result.view(), model);
    bool const hopeless = proof.what != defect::deadlock || options.send_slots >= table.micro_batches ||
                          play(result.view(), send_model::buffered).what == defect::deadlock;
    if (hopeless) return result;
  }
}

/// The same under rendezvous. `proof`, where given, receives the verdict.
constexpr program lower(program_view const& table, lower_options options = {}, verdict* proof = nullptr) {
  verdict found;
  program result = lower_for(table, options, send_model::rendezvous, found);
  if (proof != nullptr) *proof = found;
  return result;
}

}  // namespace weft::inline v1::schedule
