// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/compare_schedules.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/detail/best_order.hpp>
#include <weft/schedule/latency_aware.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/spread_costs.hpp>

#include <string>
#include <utility>
#include <vector>

/// @file
/// The two entries of the registry that look at the others: "latency-aware" and "auto".

namespace weft::inline v1::schedule::detail {

/// A search's view of a table: halves of a backward apart, fused pairs one after the other.
inline order_rows rows_of_table(program_view const& table, order_problem const& problem) {
  order_rows rows(problem);
  for (int rank = 0; rank < table.ranks(); ++rank)
    for (action const& each : table.row(rank)) {
      if (each.what == op::backward) {
        rows.put(rank, op::backward_input, each.stage);
        rows.put(rank, op::backward_weight, each.stage);
      } else {
        rows.put(rank, each.what, each.stage);
      }
    }
  return rows;
}

/// Rows as a program; the inverse of the above.
inline program table_of_rows(order_rows const& rows, order_problem const& problem,
                             topology::stage_graph_view const& graph, int micro_batches, char const* name) {
  program result(name, topology::stage_graph::copy_of(graph), micro_batches, work_set{}, problem.actions());
  buffer<int> next(3 * problem.stages);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    for (int position = 0; position < rows.size[rank]; ++position) {
      order_step const& step = rows.steps[rank * rows.width + position];
      result.append(make_action(step.what, step.stage, next[3 * step.stage + kind_of(step.what)]++));
    }
    result.end_row();
  }
  return result;
}

/// The same actions under another name.
inline program renamed(program_view const& table, char const* name) {
  int actions = 0;
  for (int rank = 0; rank < table.ranks(); ++rank) actions += table.row(rank).size;
  program result(name, topology::stage_graph::copy_of(table.graph), table.micro_batches, table.work, actions);
  for (int rank = 0; rank < table.ranks(); ++rank) {
    for (action const& each : table.row(rank)) result.append(each);
    result.end_row();
  }
  return result;
}

inline bool same_graph(topology::stage_graph_view const& one, topology::stage_graph_view const& other) {
  if (one.stages != other.stages || one.copies != other.copies) return false;
  for (int which = 0; which < one.stages * one.copies; ++which)
    if (one.rank_of_stage[which] != other.rank_of_stage[which]) return false;
  return true;
}

inline schedule_wish wish_of(shape const& chosen) {
  schedule_wish wish;
  wish.chosen = chosen;
  wish.chosen.memory_limit = 0;
  wish.is_quick = chosen.costs == nullptr;
  if (chosen.costs != nullptr) wish.costs = *chosen.costs;
  wish.activations = chosen.memory_limit;
  return wish;
}

WEFT_SCHEDULES_INLINE validity check_chosen(shape const& chosen, int ranks, int micro_batches) {
  return latency_aware_values{chosen.memory_limit}.check(ranks, micro_batches);
}

/// The best schedule of the registry (one copy of the weights, within the limit), and what searches make of it and of
/// its placement; at least as good as the best.
WEFT_SCHEDULES_INLINE program latency_aware_table(shape const& chosen, int ranks, int micro_batches) {
  if (validity const found = check_chosen(chosen, ranks, micro_batches); !found.legal())
    throw error(explain(found, latency_aware_values::name));
  schedule_wish const wish = wish_of(chosen);
  search_budget const& budget = chosen.costs != nullptr ? thorough : quick;
  auto const lines = compare_schedules(ranks, micro_batches, wish, false);
  std::vector<program> tables;  // the graphs to search on, the best table of each first
  tables.push_back(write_table(ranks, micro_batches, zero_bubble_h1{}));
  bool one_per_rank_is_known = false;
  program best;
  candidate best_figures;
  best_figures.why = left_out::cannot_be_played;
  constexpr std::size_t most_graphs = 4;
  for (auto const& line : lines) {
    if (line.figures.why != left_out::none) break;
    program table = line.entry->table(line.used, ranks, micro_batches);
    bool const is_first = best_figures.why != left_out::none;
    if (is_first) {
      best_figures = line.figures;
      best = renamed(table.view(), latency_aware_values::name);
    }
    if (table.view().graph.copies > 1) continue;
    bool known = false;
    for (std::size_t index = 0; index < tables.size(); ++index) {
      if (!same_graph(tables[index].view().graph, table.view().graph)) continue;
      known = true;
      if (index == 0 && !std::exchange(one_per_rank_is_known, true)) tables[0] = std::move(table);
      break;
    }
    if (!known && tables.size() < most_graphs) tables.push_back(std::move(table));
  }
  for (program const& known : tables) {
    auto const& graph = known.view().graph;
    spread_costs const costs(wish.costs, graph);
    order_problem problem = make_order_problem(graph, micro_batches, true, costs.model);
    if (wish.activations > 0.0) problem.limit = wish.activations * (graph.stages / graph.ranks);
    order_rows const start = rows_of_table(known.view(), problem);
    best_order const found = find_best_order(problem, budget, &start);
    if (!found.score.found()) continue;
    program table = table_of_rows(found.rows, problem, graph, micro_batches, latency_aware_values::name);
    candidate const figures = figures_of_candidate(table.view(), wish);
    if (!figures.is_better_than(best_figures)) continue;
    best_figures = figures;
    best = std::move(table);
  }
  return best;
}

/// The best of all; keeps its name.
WEFT_SCHEDULES_INLINE program automatic_table(shape const& chosen, int ranks, int micro_batches) {
  if (validity const found = check_chosen(chosen, ranks, micro_batches); !found.legal())
    throw error(explain(found, "auto"));
  auto const lines = compare_schedules(ranks, micro_batches, wish_of(chosen));
  if (lines.empty() || lines.front().figures.why != left_out::none) {
    std::string reasons;
    for (auto const& line : lines) reasons += "\n  " + std::string(line.entry->name) + " is " + explain(line);
    throw error("weft::schedule::auto: no schedule does what is wanted; raise the limit" + reasons);
  }
  return lines.front().entry->table(lines.front().used, ranks, micro_batches);
}

}  // namespace weft::inline v1::schedule::detail
