// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chosen_costs.hpp"
#include "request.hpp"

#include <weft/schedule/figures.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/verdict.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace weft_schedule {

/// A schedule's table, made to the costs where it searches.
inline weft::schedule::program make_asked_table(request const& asked, chosen_costs& costs) {
  using namespace weft::schedule;
  schedule_entry const& entry = known_schedule(asked.name);
  if (entry.chooses != choice::none) costs.require_whole_ranks(asked.ranks);
  shape chosen = asked.shape;
  if (asked.costs.given) chosen.costs = &costs.model;
  if (auto const found = entry.check(chosen, asked.ranks, asked.micro_batches); !found.legal())
    throw usage_error(explain(found, entry.name));
  // A search reads costs before its table says how many stages there are: those that do have one per rank.
  if (entry.parameters.memory_limit) costs.require_lines(asked.ranks);
  return entry.table(chosen, asked.ranks, asked.micro_batches);
}

/// Figures of a table as JSON.
inline nlohmann::ordered_json figures_json(request const& asked, weft::schedule::program_view const& table,
                                           weft::schedule::schedule_figures const& figures) {
  nlohmann::ordered_json object;
  object["schedule"] = table.name;
  object["ranks"] = table.ranks();
  object["stages"] = table.stages();
  object["micro_batches"] = asked.micro_batches;
  object["copies"] = table.graph.copies;
  object["makespan"] = figures.cost.makespan;
  object["longest_span"] = figures.cost.longest_span;
  object["work"] = figures.work;
  object["bubble_rate"] = figures.bubble_rate;
  object["idle_share"] = figures.cost.idle_share(table.ranks());
  auto const per_rank = [&](char const* name, auto const& value) {
    auto values = nlohmann::ordered_json::array();
    for (auto const& each : figures.ranks) values.push_back(value(each));
    object[name] = values;
  };
  using weft::schedule::rank_summary;
  per_rank("span", [](rank_summary const& each) { return each.span; });
  per_rank("busy", [](rank_summary const& each) { return each.busy; });
  per_rank("idle", [](rank_summary const& each) { return each.idle; });
  per_rank("peak_activations", [](rank_summary const& each) { return each.peaks.peak_activations; });
  per_rank("peak_weight_contexts", [](rank_summary const& each) { return each.peaks.peak_weight_contexts; });
  per_rank("peak_versions", [](rank_summary const& each) { return each.peaks.peak_versions; });
  return object;
}

inline std::string time_text(request const& asked) {
  require_size(asked);
  chosen_costs costs(asked.costs, asked.ranks);
  auto const table = make_asked_table(asked, costs);
  auto const figures = weft::schedule::figures_of(table.view(), costs.of(table.view()));
  if (!figures.proof.playable()) throw weft::error(asked.name + ": " + weft::schedule::explain(figures.proof));
  return figures_json(asked, table.view(), figures).dump(2) + '\n';
}

}  // namespace weft_schedule
