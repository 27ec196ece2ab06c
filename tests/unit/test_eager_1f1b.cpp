// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/eager_1f1b.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("eager_1f1b prints the orders that others published") {
  auto const made = write_table<eager_1f1b>(2, 4);
  policy_checks::same_order(made.view(), "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
  CHECK(cost(made.view()).makespan == 15.0);
  policy_checks::for_each_listed("eager1f1b", [](auto const& row, std::string const& text) {
    auto const table = write_table<eager_1f1b>(row.ranks, row.micro_batches);
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  });
}

TEST_CASE("eager_1f1b: the formulas of its comment hold for every shape") {
  policy_checks::formulas<eager_1f1b>();
  for (int micro_batches : {1, 9, 31, 40}) policy_checks::formulas_of(eager_1f1b{}, 16, micro_batches);
}

TEST_CASE("eager_1f1b with a hop time: its span does not grow with the number of micro-batches, 1F1B's does") {
  double const hop = 0.25;
  for (int ranks : {2, 4, 8})
    for (int cycles : {2, 3, 5}) {
      CAPTURE(ranks);
      auto const table = write_table<eager_1f1b>(ranks, cycles * ranks);
      CHECK(policy_checks::longest_span(table.view(), {.hop = hop}) ==
            3.0 * cycles * ranks + 3.0 * (ranks - 1) + 2 * (ranks - 1) * hop);
    }
}

TEST_CASE("eager_1f1b says which rule is broken and what would be legal") { policy_checks::rules<eager_1f1b>(); }

TEST_CASE("eager_1f1b by any of its names") {
  for (char const* const name : {"eager-1f1b", "Eager1F1B", "eager", "eager_1f1b"})
    CHECK(canonical_name(name) == "eager-1f1b");
}
