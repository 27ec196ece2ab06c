// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/candidate.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/shape.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::schedule {

/// One line of a comparison: a schedule of the registry with its figures, or why it is left out.
struct compared_schedule {
  schedule_entry const* entry = nullptr;
  shape used;                               ///< what it was made with
  std::shared_ptr<cost_model const> costs;  ///< what `used.costs` points to (its arrays are the wish's own); or null
  validity found;                           ///< where `candidate.why` is `breaks_rule`
  candidate figures;
};

namespace detail {

/// The shape a schedule is tried with: what was asked for and it takes, and the limit and costs for one that searches.
inline shape shape_for(schedule_entry const& entry, schedule_wish const& wish, cost_model const* costs) {
  shape used;
  used.costs = costs;
  if (entry.parameters.chunks) used.chunks = wish.chosen.chunks;
  if (entry.parameters.group) used.group = wish.chosen.group;
  if (entry.parameters.waves) used.waves = wish.chosen.waves;
  if (entry.parameters.steps) used.steps = wish.chosen.steps;
  if (entry.parameters.replicas) {
    used.replicas = wish.chosen.replicas;
    used.replicated_stages = wish.chosen.replicated_stages;
  }
  if (entry.parameters.steps_before) used.steps_before = wish.chosen.steps_before;
  if (!entry.parameters.memory_limit) return used;
  used.memory_limit = wish.chosen.memory_limit;
  used.kept_percent = wish.chosen.kept_percent;
  double const limit = wish.most_activations();
  if (used.memory_limit == 0 && limit < 1e9) {
    used.memory_limit = limit < 1.0 ? 1 : static_cast<int>(limit);
    used.kept_percent = 100;
  }
  return used;
}

/// Fills in a line: checks the rule, makes the table, plays and prices it. `costs`: null for a quick search.
inline compared_schedule compare_one(schedule_entry const& entry, int ranks, int micro_batches,
                                     schedule_wish const& wish, std::shared_ptr<cost_model const> costs) {
  compared_schedule line;
  line.entry = &entry;
  line.used = shape_for(entry, wish, costs.get());
  line.costs = std::move(costs);
  line.found = entry.check(line.used, ranks, micro_batches);
  if (!line.found.legal()) {
    line.figures.why = left_out::breaks_rule;
    return line;
  }
  line.figures = figures_of_candidate(entry.table(line.used, ranks, micro_batches).view(), wish);
  return line;
}

}  // namespace detail

/// All schedules of the registry for one shape: the legal ones that do what is wanted, the shortest makespan first
/// (then the shorter span, the smaller peak, the order of the registry), then those left out. "auto" is not among them,
/// since it is the first of them; nor, without `with_made_to_measure`, is what is made by looking at the others.
WEFT_SCHEDULES_INLINE std::vector<compared_schedule> compare_schedules(int ranks, int micro_batches,
                                                                       schedule_wish const& wish = {},
                                                                       bool with_made_to_measure = true);

#if defined(WEFT_DEFINES_SCHEDULES)

WEFT_SCHEDULES_INLINE std::vector<compared_schedule> compare_schedules(int ranks, int micro_batches,
                                                                       schedule_wish const& wish,
                                                                       bool with_made_to_measure) {
  std::vector<compared_schedule> lines;
  // Lines outlive the wish, which may have been made for this call.
  auto const costs = wish.is_quick ? nullptr : std::make_shared<cost_model const>(wish.costs);
  for (schedule_entry const& entry : schedules) {
    if (entry.chooses == choice::among_all || (entry.chooses == choice::to_measure && !with_made_to_measure)) continue;
    lines.push_back(detail::compare_one(entry, ranks, micro_batches, wish, costs));
  }
  // By insertion: times that are equal but for rounding are no order that std::sort may be given.
  for (std::size_t index = 1; index < lines.size(); ++index)
    for (std::size_t at = index; at > 0 && lines[at].figures.is_better_than(lines[at - 1].figures); --at)
      std::swap(lines[at], lines[at - 1]);
  return lines;
}

#endif

/// "left out: keeps 7 activations on a rank, and the limit is 4", or the rule; empty for a legal one.
inline std::string explain(compared_schedule const& line) {
  if (line.figures.why == left_out::breaks_rule) {
    std::string const words = explain(line.found, line.entry->name);
    std::string const lead = "weft::schedule::" + std::string(line.entry->name) + ": ";
    return "left out: " + (words.rfind(lead, 0) == 0 ? words.substr(lead.size()) : words);
  }
  return explain(line.figures);
}

}  // namespace weft::inline v1::schedule

// The entries that ask for this list.
#if defined(WEFT_DEFINES_SCHEDULES)
#include <weft/schedule/detail/chosen_tables.hpp>
#endif
