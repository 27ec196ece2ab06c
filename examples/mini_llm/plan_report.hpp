// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "schedule_table.hpp"
#include "windows.hpp"

#include <weft/error.hpp>
#include <weft/execution/blas.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/plan/report.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/picture.hpp>
#include <weft/topology/partition.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

/// @file
/// What `--plan` prints: the plan, its proof, and a picture of its time. Nothing here communicates.

namespace mini_llm {

template <class Model>
model_facts facts_of() {
  model_facts facts;
  facts.blocks = Model::size.blocks;
  facts.channels = Model::size.width;
  facts.heads = Model::size.heads;
  facts.positions = Model::size.positions;
  facts.vocabulary = Model::size.vocabulary;
  if constexpr (requires { Model::size.kv_heads; }) {
    facts.is_llama = true;
    facts.has_dropout = Model::has_dropout;
    facts.norm_epsilon = Model::size.epsilon();
    facts.kv_heads = Model::size.kv_heads;
    facts.hidden = Model::size.hidden;
    facts.theta = Model::size.theta;
  }
  return facts;
}

/// Throws, with a sentence for each, if the options do not go together.
void require_possible(options const& chosen, int launched, model_facts const& model);

/// Of one pipeline, where `world` ranks make up all of them.
inline int pipeline_ranks(options const& chosen, int world) { return world / chosen.data_ranks; }

/// One pipeline's program: checked, lowered, and played under rendezvous.
weft::schedule::program make_program(options const& chosen, int world);

/// Micro-batches of a batch over all pipelines, or groups.
inline int all_micro_batches(options const& chosen) { return chosen.micro_batches * groups_of(chosen); }

weft::model::extents largest_micro_batch(options const& chosen);

template <class Model>
weft::topology::partition partition_of(options const& chosen, weft::schedule::program_view const& program) {
  return chosen.partition.empty()
             ? weft::partition_of<Model>(program, largest_micro_batch(chosen), {.speeds = chosen.speeds})
             : weft::topology::partition::of(chosen.partition, Model::layer_count);
}

std::string bytes_text(std::int64_t bytes);

/// Two lines: the model, the plan.
template <class Model>
std::string headline(options const& chosen, int world, weft::topology::partition const& layers, int copies) {
  std::string sizes;
  for (auto const& range : layers) sizes += (sizes.empty() ? "" : ",") + std::to_string(range.size());
  auto const largest = largest_micro_batch(chosen);
  int const ranks = pipeline_ranks(chosen, world);
  std::string replicas;
  if (chosen.data_ranks > 1)
    replicas = std::to_string(chosen.data_ranks) + " pipelines (gradients summed by " + chosen.reduce + ") of ";
  if (chosen.gradient_groups > 1)
    replicas = std::to_string(chosen.gradient_groups) + " gradient groups (summed as by " + chosen.reduce + ") on ";
  if (copies > 1) replicas += "two copies of the model (gradients summed by " + chosen.reduce + ") on ";
  if (chosen.replay > 0) replicas += std::to_string(chosen.replay) + " ranks, replayed on ";
  return "model: " + std::string(to_text(chosen.preset)) + ", " + Model::name() + ", " +
         std::to_string(Model::parameter_count()) + " parameters\nplan:  " + chosen.schedule + " on " + replicas +
         std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") + std::to_string(chosen.micro_batches) +
         " micro-batches of " + (chosen.batch % all_micro_batches(chosen) == 0 ? "" : "at most ") +
         std::to_string(largest.sequences_per_micro_batch) + " x " + std::to_string(largest.sequence_length) +
         " tokens, layers per " + (layers.stages() == ranks && copies == 1 ? "rank " : "stage ") + sizes +
         (chosen.speeds.empty() ? ""
                                : ", speeds " + speeds_text(chosen) + (chosen.measure_speeds ? " (measured)" : "")) +
         (chosen.recompute == recompute_kind::full ? ", activations recomputed\n" : "\n");
}

template <class Model, class Number = float>
void print_plan(options const& chosen, int launched) {
  int const world = chosen.ranks > 0 ? chosen.ranks : launched;
  options as_launched = chosen;  // a plan may be asked for on any number of ranks, by one process
  as_launched.ranks = 0;
  as_launched.transport = transport_kind::mpi;
  require_possible(as_launched, world, facts_of<Model>());
  int const ranks = pipeline_ranks(chosen, world);
  auto const program = make_program(chosen, world);
  auto const layers = partition_of<Model>(chosen, program.view());
  auto const largest = largest_micro_batch(chosen);
  auto const report = weft::make_report(program.view());
  std::cout << headline<Model>(chosen, world, layers, program.view().graph.copies);
  std::printf(
      "proof: playable under rendezvous; %d actions, peak activations %d, largest tag %d, gradients add up in %s "
      "order\n",
      report.actions, report.peak_activations, report.largest_tag,
      report.order == weft::schedule::accumulation::ascending ? "ascending" : "another");

  if (program.view().graph.copies > 1)
    std::cout << "two copies of the model, each with half of the micro-batches: every rank holds one stage of either, "
                 "and\ntheir gradients are summed over both (forward flops: of a rank's mean micro-batch)\n";

  if (is_asynchronous(chosen)) {
    auto const plan = windows_of(chosen, ranks);
    std::string versions;
    for (int const each : plan.weight_versions()) versions += (versions.empty() ? "" : ", ") + std::to_string(each);
    std::printf(
        "asynchronous: each stage steps in its own time, with gradients of weights up to %d steps old; versions kept: "
        "%s;\nnorms and tied gradients of all stages are used %d steps later; a window of %d steps in mid-run is "
        "shown\n",
        plan.oldest_read, versions.c_str(), plan.delay(), program.view().micro_batches / chosen.micro_batches);
  }

  std::printf("\nrank  layers  peak  forward flops  %12s%12s%12s%12s%12s%12s%12s\n", "parameters", "gradients",
              "optimizer", "activations", "wire", "work", "total");
  for (int rank = 0; rank < ranks; ++rank) {
    auto const needs =
        weft::memory_of_rank<Model, Number>(program.view(), layers, largest, rank, chosen.gradient_groups);
    std::int64_t flops = 0;
    int held = 0;
    int peak = 0;
    for (int each = 0; each < program.view().stages() * program.view().graph.copies; ++each) {
      if (program.view().graph.rank_of_stage[each] != rank) continue;
      int const stage = each % program.view().stages();
      for (int layer = layers[stage].first; layer < layers[stage].last; ++layer)
        flops += Model::flops(layer, largest) / program.view().graph.copies;
      held += layers[stage].size();
      peak += program.view().slots[each].activation;
    }
    std::printf("%4d  %6d  %4d  %13.3e  %12s%12s%12s%12s%12s%12s%12s\n", rank, held, peak, static_cast<double>(flops),
                bytes_text(needs.parameters).c_str(), bytes_text(needs.gradients).c_str(),
                bytes_text(needs.optimizer).c_str(), bytes_text(needs.activations).c_str(),
                bytes_text(needs.wire).c_str(), bytes_text(needs.workspace + needs.weight_contexts).c_str(),
                bytes_text(needs.total()).c_str());
  }

  if constexpr (constexpr std::size_t products = weft::blas::handle<Kokkos::DefaultExecutionSpace>::workspace_bytes;
                products > 0)
    std::printf("beside these, on each rank's device: %s for products, and what the runtime and recorded calls take\n",
                bytes_text(static_cast<std::int64_t>(products)).c_str());

  // Passes in proportion to their flops: backward takes twice as many, and halves of a backward one each.
  std::vector<weft::schedule::stage_cost> costs;
  for (auto const& range : layers) {
    double flops = 0.0;
    for (int layer = range.first; layer < range.last; ++layer)
      flops += static_cast<double>(Model::flops(layer, largest));
    costs.push_back({flops, flops, flops});
  }
  auto const unit = weft::schedule::make_timeline(program.view());
  weft::schedule::cost_model by_flops;
  by_flops.stages = costs.data();
  std::vector<double> factors;
  for (double const speed : chosen.speeds) factors.push_back(1.0 / speed);
  if (!factors.empty()) by_flops.rank_factors = factors.data();
  auto const planned = weft::schedule::cost(program.view(), by_flops);
  std::printf("\nidle share %.1f %% with equal stages (F = 1, B = 2), %.1f %% with this model's\n\n",
              100.0 * unit.summary.idle_share(ranks), 100.0 * planned.idle_share(ranks));
  weft::schedule::picture_options how;
  if (progress::on_terminal()) how.width = std::max(40, terminal_width(STDOUT_FILENO) - 1);
  std::cout << weft::schedule::draw_text(unit, how)
            << "\nFn, Bn: forward and backward of micro-batch n; '..' is idle time, '-' goes on, '>' is cut off\n"
            << std::flush;
}

}  // namespace mini_llm
