// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/program_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

/// @file
/// A timeline as text for terminals and as SVG for pages. Planned timelines come from `make_timeline`, measured ones
/// from the engine: both are arrays of `timed_action`.

namespace weft::inline v1::schedule {

struct picture_options {
  double unit = 0.0;  ///< time of one cell; 0: the shortest compute action
  int width = 118;    ///< most characters of a line; what does not fit is cut and marked with '>'
  char idle = '.';
};

namespace detail {

/// "F3", or "5F3" where a rank holds several stages.
inline std::string label_of(action const& cell, bool with_stage) {
  std::string text = with_stage ? std::to_string(cell.stage) : std::string();
  text += traits_of(cell.what).letters;
  if (cell.what < op::reduce_gradient) text += std::to_string(cell.micro_batch);
  return text;
}

/// What has a width in time is drawn: passes always, the end of a step where the cost model gives it a time.
inline bool is_drawn(timed_action const& each) { return each.end > each.begin; }

inline bool has_several_stages(timed_action const* actions, int count) {
  int first = -1;  // of the rank that is looked at
  for (int index = 0; index < count; ++index) {
    if (!is_drawn(actions[index])) continue;
    if (first < 0 || actions[index].rank != actions[first].rank) first = index;
    if (actions[index].what.stage != actions[first].what.stage) return true;
  }
  return false;
}

inline double shortest(timed_action const* actions, int count) {
  double least = 0.0;
  for (int index = 0; index < count; ++index) {
    double const length = actions[index].end - actions[index].begin;
    if (length > 0.0 && (least == 0.0 || length < least)) least = length;
  }
  return least > 0.0 ? least : 1.0;
}

inline std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace detail

/// One line per rank, one cell per unit of time; an action longer than a unit is continued with '-'.
///
///     rank 0 |F0 F1 .. .. B0----B1----|
///     rank 1 |.. F0 B0----F1 B1---- ..|
inline std::string draw_text(timed_action const* actions, int count, int ranks, picture_options const& options = {}) {
  double const unit = options.unit > 0.0 ? options.unit : detail::shortest(actions, count);
  bool const with_stage = detail::has_several_stages(actions, count);
  std::size_t cell = 2;
  double last = 0.0;
  for (int index = 0; index < count; ++index) {
    if (!detail::is_drawn(actions[index])) continue;
    cell = (std::max)(cell, detail::label_of(actions[index].what, with_stage).size());
    last = (std::max)(last, actions[index].end);
  }
  cell += 1;  // a space between two cells
  std::string const widest = "rank " + std::to_string(ranks - 1) + " |";
  auto const columns = static_cast<std::size_t>(std::lround(last / unit));
  std::size_t const room = options.width > static_cast<int>(widest.size() + cell)
                               ? (static_cast<std::size_t>(options.width) - widest.size() - 1) / cell
                               : 1;
  std::size_t const shown = (std::min)(columns, room);

  // Of the lines only what is shown, and one look at each action: a plan may have millions.
  std::string empty;
  for (std::size_t column = 0; column < shown; ++column) empty += std::string(cell - 1, options.idle) + ' ';
  std::vector<std::string> lines(static_cast<std::size_t>(ranks), empty);
  for (int index = 0; index < count; ++index) {
    timed_action const& each = actions[index];
    if (!detail::is_drawn(each)) continue;
    auto const begin = static_cast<std::size_t>(std::lround(each.begin / unit)) * cell;
    auto const end = static_cast<std::size_t>(std::lround(each.end / unit)) * cell;
    if (begin >= empty.size()) continue;
    std::string& line = lines[static_cast<std::size_t>(each.rank)];
    std::string const label = detail::label_of(each.what, with_stage);
    for (std::size_t at = begin; at < end && at < line.size(); ++at)
      line[at] = at - begin < label.size() ? label[at - begin] : (at + 1 == end || end - begin <= cell ? ' ' : '-');
  }
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string head = "rank " + std::to_string(rank);
    head += std::string(widest.size() - 2 - head.size(), ' ') + " |";
    text += head + lines[static_cast<std::size_t>(rank)] + (shown < columns ? ">\n" : "|\n");
  }
  return text;
}

inline std::string draw_text(timeline const& times, picture_options const& options = {}) {
  return draw_text(times.actions.data(), times.actions.size(), times.ranks.size(), options);
}

/// A stand-alone SVG: one lane per rank, one box per action, a time axis below. `title` must not need escaping.
inline std::string draw_svg(timed_action const* actions, int count, int ranks, std::string const& title = "timeline") {
  constexpr double left = 60.0;
  constexpr double top = 34.0;
  constexpr double lane = 26.0;
  constexpr double room = 1000.0;
  double last = 0.0;
  for (int index = 0; index < count; ++index) last = (std::max)(last, actions[index].end);
  double const scale = last > 0.0 ? room / last : 1.0;
  bool const with_stage = detail::has_several_stages(actions, count);
  auto const color = [](op what) {
    switch (what) {
      case op::forward: return "#4f7cac";
      case op::recompute: return "#9db8d2";
      case op::backward: return "#c0734a";
      case op::backward_input: return "#d39a62";
      case op::backward_weight: return "#7a9e5f";
      default: return "#8d8d8d";
    }
  };
  double const height = top + lane * ranks + 30.0;
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + detail::decimal(left + room + 20.0) +
                     "\" height=\"" + detail::decimal(height) + "\" font-family=\"sans-serif\" font-size=\"11\">\n";
  text += "<title>" + title + "</title>\n<text x=\"" + detail::decimal(left) + "\" y=\"18\" font-size=\"13\">" + title +
          "</text>\n";
  for (int rank = 0; rank < ranks; ++rank) {
    double const y = top + lane * rank;
    text += "<text x=\"4\" y=\"" + detail::decimal(y + 15.0) + "\">rank " + std::to_string(rank) + "</text>\n";
    text += "<rect x=\"" + detail::decimal(left) + "\" y=\"" + detail::decimal(y) + "\" width=\"" +
            detail::decimal(room) + "\" height=\"" + detail::decimal(lane - 4.0) + "\" fill=\"#eeeeee\"/>\n";
  }
  for (int index = 0; index < count; ++index) {
    timed_action const& each = actions[index];
    if (!detail::is_drawn(each)) continue;
    double const x = left + each.begin * scale;
    double const y = top + lane * each.rank;
    double const width = (each.end - each.begin) * scale;
    std::string const label = detail::label_of(each.what, with_stage);
    text += "<rect x=\"" + detail::decimal(x) + "\" y=\"" + detail::decimal(y) + "\" width=\"" +
            detail::decimal(width) + "\" height=\"" + detail::decimal(lane - 4.0) + "\" fill=\"" +
            color(each.what.what) + "\" stroke=\"#ffffff\"/>\n";
    if (width > 7.0 * static_cast<double>(label.size()))
      text += "<text x=\"" + detail::decimal(x + width / 2.0) + "\" y=\"" + detail::decimal(y + 15.0) +
              "\" text-anchor=\"middle\" fill=\"#ffffff\">" + label + "</text>\n";
  }
  double const axis = top + lane * ranks + 16.0;
  text += "<text x=\"" + detail::decimal(left) + "\" y=\"" + detail::decimal(axis) + "\">0</text>\n<text x=\"" +
          detail::decimal(left + room) + "\" y=\"" + detail::decimal(axis) + "\" text-anchor=\"end\">" +
          detail::decimal(last) + "</text>\n</svg>\n";
  return text;
}

inline std::string draw_svg(timeline const& times, std::string const& title = "timeline") {
  return draw_svg(times.actions.data(), times.actions.size(), times.ranks.size(), title);
}

}  // namespace weft::inline v1::schedule
