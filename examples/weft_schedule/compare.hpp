// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chosen_costs.hpp"
#include "request.hpp"

#include <weft/schedule/compare_schedules.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace weft_schedule {

/// All schedules for one shape, ranked, and why the others are left out.
inline std::string compare_text(request const& asked) {
  using namespace weft::schedule;
  require_size(asked);
  if (asked.format != "text" && asked.format != "json")
    throw usage_error("--format: \"" + asked.format + "\" is not known here; use text or json");
  if (!std::isfinite(asked.memory) || asked.memory < 0.0)
    throw usage_error("--memory: " + std::to_string(asked.memory) +
                      " is no number of activations; use 1 or more, or leave it out");
  chosen_costs costs(asked.costs, asked.ranks);
  costs.require_whole_ranks(asked.ranks);
  schedule_wish wish;
  wish.chosen = asked.shape;
  wish.costs = costs.model;
  wish.activations = asked.memory;
  wish.copies = asked.weight_copies;
  wish.is_quick = !asked.costs.given;
  auto const lines = compare_schedules(asked.ranks, asked.micro_batches, wish);
  auto all = nlohmann::ordered_json::array();
  std::string text = "      schedule                  makespan   bubble rate   activations   weights\n";
  std::string reasons;
  int place = 0;
  for (auto const& each : lines) {
    bool const legal = each.figures.why == left_out::none;
    if (asked.format == "json") {
      nlohmann::ordered_json object;
      object["schedule"] = each.entry->name;
      object["legal"] = legal;
      if (legal) {
        object["place"] = ++place;
        object["makespan"] = each.figures.makespan;
        object["bubble_rate"] = each.figures.bubble_rate;
        object["chunks"] = each.figures.chunks;
        object["peak_activations"] = each.figures.activations;
        object["weight_copies"] = each.figures.copies;
      } else {
        object["reason"] = explain(each);
      }
      all.push_back(object);
      continue;
    }
    if (!legal) {
      reasons += "      " + std::string(each.entry->name) + ": " + explain(each) + '\n';
      continue;
    }
    char line[200];
    std::snprintf(line, sizeof line, "%4d  %-24s  %8.6g   %11.4f   %11.4g   %7d\n", ++place, each.entry->name,
                  each.figures.makespan, each.figures.bubble_rate, each.figures.activations, each.figures.copies);
    text += line;
  }
  if (asked.format == "json") return all.dump(2) + '\n';
  if (place == 0) text = "no schedule does what is wanted; raise --memory\n";
  return text + reasons;
}

}  // namespace weft_schedule
