// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What every policy owes: the orders that others published, the formulas of its own comment, its rules in words.

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <weft/schedule/cost.hpp>
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

template <class Policy>
void formulas() {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 12, 19, 32}) {
      CAPTURE(ranks);
      CAPTURE(micro_batches);
      REQUIRE(Policy::check(ranks, micro_batches).legal());
      auto const table = write_table<Policy>(ranks, micro_batches);
      std::vector<rank_figures> figures(static_cast<std::size_t>(ranks));
      auto const found = play(table.view(), send_model::rendezvous, figures.data());
      REQUIRE(found.playable());
      CHECK(found.order == accumulation::ascending);
      for (int rank = 0; rank < ranks; ++rank)
        CHECK(figures[static_cast<std::size_t>(rank)].peak_activations ==
              Policy::peak_activations(rank, ranks, micro_batches));

      for (auto const& [forward, backward] : {std::pair{1.0, 2.0}, std::pair{2.0, 2.0}, std::pair{3.0, 1.0}}) {
        cost_model const model{.every = {forward, backward / 2, backward / 2}};
        auto const time = cost(table.view(), model);
        REQUIRE(time.complete);
        CHECK(time.idle_most == Policy::idle(ranks, micro_batches, forward, backward));
        CHECK(time.idle_total == ranks * time.idle_most);
        // Posts cost nothing and change nothing.
        CHECK(cost(make_program<Policy>(ranks, micro_batches).view(), model).makespan == time.makespan);
      }
    }
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
