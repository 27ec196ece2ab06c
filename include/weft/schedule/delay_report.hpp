// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost.hpp>

#include <cstdio>
#include <string>

namespace weft::inline v1::schedule {

/// One rank before and after a change.
struct rank_delay {
  double idle_before = 0.0;  ///< against the makespan
  double idle_after = 0.0;
  double waited_before = 0.0;  ///< for messages, between its first and its last pass
  double waited_after = 0.0;
  int waits_for = -1;          ///< the rank whose messages it waited for longest, after the change; -1: none
  double waits_longest = 0.0;  ///< and how long

  [[nodiscard]] constexpr double added() const { return waited_after - waited_before; }
};

/// What a straggler, a slow link, or any other change of the costs does to one program.
struct delay_report {
  bool complete = false;
  double before = 0.0;  ///< makespans
  double after = 0.0;
  int waits_most = -1;  ///< the rank whose waiting grew most; -1: no rank's did
  weft::detail::buffer<rank_delay> ranks;

  /// By how much the step gets longer: 0.1 is ten per cent.
  [[nodiscard]] constexpr double slowdown() const { return before > 0.0 ? after / before - 1.0 : 0.0; }
};

/// Prices a program twice and says who waits, and for whom. Does not communicate.
constexpr delay_report compare_costs(program_view const& program, cost_model const& before, cost_model const& after) {
  int const count = program.ranks();
  weft::detail::buffer<rank_time> first(count);
  weft::detail::buffer<rank_time> second(count);
  weft::detail::buffer<double> waits(count * count);
  cost_summary const without = cost(program, before, nullptr, first.data());
  cost_summary const with = cost(program, after, nullptr, second.data(), waits.data());
  delay_report result;
  result.complete = without.complete && with.complete;
  result.before = without.makespan;
  result.after = with.makespan;
  result.ranks = weft::detail::buffer<rank_delay>(count);
  for (int rank = 0; rank < count; ++rank) {
    rank_delay& each = result.ranks[rank];
    each = {without.makespan - first[rank].busy, with.makespan - second[rank].busy, first[rank].waited,
            second[rank].waited};
    for (int other = 0; other < count; ++other) {
      if (waits[rank * count + other] <= each.waits_longest) continue;
      each.waits_longest = waits[rank * count + other];
      each.waits_for = other;
    }
    double const most = result.waits_most < 0 ? 0.0 : result.ranks[result.waits_most].added();
    if (each.added() > most) result.waits_most = rank;
  }
  return result;
}

/// What one rank costs that takes `factor` times as long for every pass and STEP.
constexpr delay_report cost_of_straggler(program_view const& program, cost_model const& model, int rank,
                                         double factor) {
  weft::detail::buffer<slowdown> windows(model.slowdown_count + 1);
  for (int index = 0; index < model.slowdown_count; ++index) windows[index] = model.slowdowns[index];
  windows[model.slowdown_count] = {rank, factor};
  cost_model changed = model;
  changed.slowdowns = windows.data();
  changed.slowdown_count = windows.size();
  return compare_costs(program, model, changed);
}

/// What a link costs between two ranks, in both directions, whose messages take `factor` times as long.
constexpr delay_report cost_of_slow_link(program_view const& program, cost_model const& model, int one, int other,
                                         double factor) {
  weft::detail::buffer<slow_link> links(model.slow_link_count + 2);
  for (int index = 0; index < model.slow_link_count; ++index) links[index] = model.slow_links[index];
  links[model.slow_link_count] = {one, other, factor};
  links[model.slow_link_count + 1] = {other, one, factor};
  cost_model changed = model;
  changed.slow_links = links.data();
  changed.slow_link_count = links.size();
  return compare_costs(program, model, changed);
}

/// "the step takes 33.00 in place of 27.00 (+22.2 %); rank 0 waits most, 6.00 longer, 8.00 of it for rank 1".
inline std::string explain(delay_report const& found) {
  if (!found.complete) return "the program cannot be played; ask play why";
  char text[240];
  std::snprintf(text, sizeof text, "the step takes %.4g in place of %.4g (%+.1f %%)", found.after, found.before,
                100.0 * found.slowdown());
  std::string words = text;
  if (found.waits_most < 0) return words + "; no rank waits longer for messages";
  rank_delay const& most = found.ranks[found.waits_most];
  std::snprintf(text, sizeof text, "; rank %d waits most: %.4g in place of %.4g", found.waits_most, most.waited_after,
                most.waited_before);
  words += text;
  if (most.waits_for >= 0) {
    std::snprintf(text, sizeof text, ", %.4g of it for rank %d", most.waits_longest, most.waits_for);
    words += text;
  }
  return words;
}

}  // namespace weft::inline v1::schedule
