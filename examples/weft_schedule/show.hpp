// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chosen_costs.hpp"
#include "request.hpp"
#include "terminal.hpp"
#include "time.hpp"
#include "weft_table.hpp"

#include <weft/profiling/chrome_trace.hpp>
#include <weft/profiling/trace.hpp>
#include <weft/schedule/action_name.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/passes/insert_posts.hpp>
#include <weft/schedule/picture.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace weft_schedule {

namespace detail {

inline std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

inline std::string title_of(weft::schedule::program_view const& table) {
  return std::string(table.name) + ": " + std::to_string(table.ranks()) + " ranks, " + std::to_string(table.stages()) +
         " stages, " + std::to_string(table.micro_batches) + " micro-batches";
}

inline std::string program_json(request const& asked, weft::schedule::program_view const& table,
                                weft::schedule::cost_model const& model) {
  using namespace weft::schedule;
  auto object = figures_json(asked, table, figures_of(table, model));
  timeline const times = make_timeline(table, model);
  auto places = nlohmann::ordered_json::array();
  for (int which = 0; which < table.stages() * table.graph.copies; ++which)
    places.push_back(table.graph.rank_of_stage[which]);
  object["rank_of_stage"] = places;
  auto rows = nlohmann::ordered_json::array();
  int next = 0;
  for (int rank = 0; rank < table.ranks(); ++rank) {
    auto row = nlohmann::ordered_json::array();
    for (action const& each : table.row(rank)) {
      timed_action const& when = times.actions[next++];
      nlohmann::ordered_json cell;
      cell["action"] = traits_of(each.what).letters;
      if (has_stage(each.what)) cell["stage"] = each.stage;
      if (has_micro_batch(each.what)) cell["micro_batch"] = each.micro_batch;
      if (table.graph.copies > 1) cell["copy"] = each.copy;
      if (table.work.asynchronous) cell["version"] = each.version;
      if (each.part != parts::whole) cell["fused"] = true;
      cell["begin"] = when.begin;
      cell["end"] = when.end;
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  object["rows"] = std::move(rows);
  return object.dump() + '\n';
}

/// The planned timeline for Perfetto: one unit of time is a millisecond there.
inline std::string trace_text(weft::schedule::program_view const& table, weft::schedule::cost_model const& model) {
  using namespace weft;
  schedule::program const lowered = schedule::lower(table, {.tied = schedule::tied_stages::none, .optimizer = false});
  schedule::timeline times = schedule::make_timeline(lowered.view(), model);
  for (auto& each : times.actions) {
    each.begin *= 1e-3;
    each.end *= 1e-3;
  }
  profiling::trace_events events;
  for (int rank = 0; rank < table.ranks(); ++rank) {
    profiling::trace_recorder recorder(lowered.view(), {.rank = rank});
    recorder.add_planned(0, times, 0.0);
    auto const& mine = recorder.events();
    events.slices.insert(events.slices.end(), mine.slices.begin(), mine.slices.end());
    events.points.insert(events.points.end(), mine.points.begin(), mine.points.end());
  }
  std::string text;
  profiling::write_chrome_trace(std::move(events),
                                {{"schedule", title_of(table)}, {"unit", "one unit of time is shown as 1 ms"}},
                                [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace detail

inline std::string show_text(request const& asked) {
  using namespace weft::schedule;
  require_size(asked);
  bool const color = wants_color(asked.color);
  if (asked.format != "text" && asked.format != "csv" && asked.format != "svg" && asked.format != "trace" &&
      asked.format != "json")
    throw usage_error("--format: \"" + asked.format + "\" is not known; use text, csv, svg, trace or json");
  if (asked.strict_pytorch && asked.format != "csv")
    throw usage_error("--strict-pytorch: is about tables; use it with --format csv");
  chosen_costs costs(asked.costs, asked.ranks);
  program table = make_asked_table(asked, costs);
  cost_model const model = costs.of(table.view());
  if (asked.lower) {
    if (asked.format == "text" || asked.format == "svg")
      throw usage_error("--lower: pictures show passes alone; use it with --format csv or json");
    if (asked.format != "trace") table = passes::insert_posts(table.view());
  }
  program_view const view = table.view();
  if (asked.format == "csv") return write_table_text(view, asked.strict_pytorch);
  if (asked.format == "json") return detail::program_json(asked, view, model);
  if (asked.format == "trace") return detail::trace_text(view, model);
  timeline const times = make_timeline(view, model);
  if (asked.format == "svg") return draw_svg(times, detail::title_of(view));
  auto const figures = figures_of(view, model);
  std::string picture = draw_text(times, {.width = terminal_width(asked.width)});
  if (color) picture = colored(picture);
  int peak = 0;
  for (auto const& each : figures.ranks) peak = each.peaks.peak_activations > peak ? each.peaks.peak_activations : peak;
  return picture + "makespan " + detail::short_number(figures.cost.makespan) + ", bubble rate " +
         detail::short_number(figures.bubble_rate) + ", peak activations " + std::to_string(peak) + '\n';
}

}  // namespace weft_schedule
