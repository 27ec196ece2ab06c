// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What every policy owes: the orders that others published, the formulas of its own comment, its rules in words.

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace policy_checks {

using namespace weft::schedule;
using schedule_support::letters;

template <class Policy>
void published_orders() {
  int compared = 0;
  for (auto const& known : published::tables) {
    if (std::string(known.schedule) != Policy::name) continue;
    CAPTURE(known.text);
    auto const made = write_table<Policy>(known.ranks, known.micro_batches);
    std::istringstream lines(known.text);
    for (int rank = 0; rank < known.ranks; ++rank) {
      std::string line;
      REQUIRE(std::getline(lines, line));
      std::string wanted;
      for (auto const& cell : published::split(line, ','))
        if (!cell.empty()) wanted += (wanted.empty() ? "" : " ") + cell.substr(1);
      CHECK(letters(made.view().row(rank)) == wanted);
    }
    CHECK(cost(made.view()).makespan == known.makespan);
    CHECK(schedule_support::peaks_of(made.view()) == known.peaks);
    ++compared;
  }
  CHECK(compared >= 2);
}

/// The passes that the formulas are held against; F, then B (its halves equally long).
inline constexpr std::pair<double, double> durations[] = {{1.0, 2.0}, {2.0, 2.0}, {3.0, 1.0}};

/// Peaks of every rank and idle time of one shape; posts cost nothing and change nothing.
template <class Policy>
void formulas_of(Policy const& policy, int ranks, int micro_batches, accumulation order = accumulation::ascending) {
  CAPTURE(ranks);
  CAPTURE(micro_batches);
  REQUIRE(policy.check(ranks, micro_batches).legal());
  auto const table = write_table(ranks, micro_batches, policy);
  std::vector<rank_figures> figures(static_cast<std::size_t>(ranks));
  auto const found = play(table.view(), send_model::rendezvous, figures.data());
  REQUIRE(explain(found) == "");
  if (micro_batches > 1) CHECK(found.order == order);
  for (int rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    CHECK(figures[static_cast<std::size_t>(rank)].peak_activations ==
          policy.peak_activations(rank, ranks, micro_batches));
  }
  auto const lowered = make_program(ranks, micro_batches, {}, policy);
  for (auto const& [forward, backward] : durations) {
    cost_model const model{.every = {forward, backward / 2, backward / 2}};
    auto const time = cost(table.view(), model);
    REQUIRE(time.complete);
    CAPTURE(forward);
    CHECK(time.idle_most == policy.idle(ranks, micro_batches, forward, backward));
    CHECK(time.idle_total == ranks * time.idle_most);
    CHECK(cost(lowered.view(), model).makespan == time.makespan);
  }
}

template <class Policy>
void formulas() {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 12, 19, 32}) formulas_of(Policy{}, ranks, micro_batches);
}

/// Idle time of a policy with a backward in two halves, whichever pass is the shortest.
template <class Policy>
void idle_of_halves(Policy const& policy, int ranks, int micro_batches) {
  CAPTURE(ranks);
  CAPTURE(micro_batches);
  auto const table = write_table(ranks, micro_batches, policy);
  constexpr double passes[][3] = {{1.0, 1.0, 1.0}, {2.0, 1.0, 3.0}, {1.5, 5.0, 2.0}, {1.5, 2.0, 5.0}, {3.0, 2.0, 0.5}};
  for (auto const& [forward, input, weight] : passes) {
    CAPTURE(forward);
    auto const time = cost(table.view(), {.every = {forward, input, weight}});
    CHECK(time.idle_most == policy.idle(ranks, micro_batches, forward, input, weight));
    CHECK(time.idle_total == ranks * time.idle_most);
  }
}

/// The longest time between the first and the last pass of a rank.
inline double longest_span(program_view const& program, cost_model const& model = {}) {
  std::vector<rank_time> times(static_cast<std::size_t>(program.ranks()));
  cost(program, model, nullptr, times.data());
  double longest = 0.0;
  for (auto const& each : times) longest = each.last - each.first > longest ? each.last - each.first : longest;
  return longest;
}

/// The same order as another table's, whatever its empty cells and launches of reductions.
inline void same_order(program_view const& made, std::string const& text, csv_options options = {}) {
  options.micro_batches = made.micro_batches;
  options.copies = made.graph.copies;
  auto const known = read_csv(text, options);
  auto const passes = [](program_view const& program, int rank) {
    std::string line;
    for (action const& cell : program.row(rank))
      if (traits_of(cell.what).is_compute)
        line += ' ' + std::to_string(cell.stage) + traits_of(cell.what).letters + std::to_string(cell.micro_batch) +
                (cell.part == parts::whole           ? ""
                 : cell.part == parts::fused_forward ? "("
                                                     : ")");
    return line;
  };
  REQUIRE(made.ranks() == known.view().ranks());
  for (int rank = 0; rank < made.ranks(); ++rank) {
    CAPTURE(rank);
    CHECK(passes(made, rank) == passes(known.view(), rank));
  }
}

/// Every table of the whole collection that is listed as `schedule`, where WEFT_VECTORS_DIR names its folder:
/// `check(row, text)` with the row of index.csv (ranks, chunks, micro-batches, ..., makespan) and the file.
struct listed {
  std::string file;
  int ranks;
  int chunks;
  int micro_batches;
  std::string peaks;
  double makespan;
};

template <class Check>
void for_each_listed(std::string const& schedule, Check const& check) {
  std::string const folder = published::folder();
  if (folder.empty()) return;
  std::istringstream index(published::read_file(folder + "/index.csv"));
  std::string line;
  int found = 0;
  while (std::getline(index, line)) {
    auto const fields = published::split(line, ',');
    if (fields[1] != schedule) continue;
    CAPTURE(fields[0]);
    check(listed{fields[0], std::stoi(fields[2]), std::stoi(fields[3]), std::stoi(fields[4]), fields[8],
                 std::stod(fields[10])},
          published::read_file(folder + "/" + fields[0]));
    ++found;
  }
  CHECK(found > 0);
}

template <class Policy>
void rules() {
  CHECK(Policy::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(Policy::check(0, 4) == validity{rule::needs_a_rank, 0, 1});
  CHECK(Policy::check(-1, 4).broken == rule::needs_a_rank);
  CHECK(Policy::check(16, 1 << 27).broken == rule::too_many_micro_batches);
  CHECK(Policy::check(16, Policy::check(16, 1 << 27).nearest).legal());
  std::string const words = "weft::schedule::" + std::string(Policy::name) +
                            ": there is no micro-batch to run; use micro_batches 1 or more (asked for 0, "
                            "nearest legal 1)";
  CHECK_THROWS_WITH_AS(make_program<Policy>(4, 0), words.c_str(), weft::error);
}

}  // namespace policy_checks
