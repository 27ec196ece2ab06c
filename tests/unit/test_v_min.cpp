// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/v_min.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft::schedule;

TEST_CASE("v_min: within the memory of the orders that others found, and no slower") {
  struct known {
    int ranks;
    int micro_batches;
    int peak;
    double makespan;
  };
  for (auto const& [ranks, micro_batches, peak, makespan] :
       {known{2, 4, 4, 27.0}, known{4, 4, 4, 35.0}, known{4, 8, 4, 59.0}, known{8, 16, 8, 122.0}}) {
    CAPTURE(ranks);
    auto const table = write_table<v_min>(ranks, micro_batches);
    CHECK(play(table.view()).peak_activations <= peak);
    CHECK(cost(table.view()).makespan <= makespan);
  }
  policy_checks::for_each_listed("vmin", [](auto const& row, std::string const& text) {
    auto const table = write_table<v_min>(row.ranks, row.micro_batches);
    int const theirs = play(read_csv(text).view()).peak_activations;
    CHECK(play(table.view()).peak_activations <= theirs);
    CHECK(cost(table.view()).makespan <= row.makespan);
  });
}

TEST_CASE("v_min: legal, proved and within its limit for every shape, its formulas hold") {
  for (int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16})
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33}) {
      CAPTURE(ranks);
      CAPTURE(micro_batches);
      auto const table = write_table<v_min>(ranks, micro_batches);
      auto const found = play(table.view());
      REQUIRE(explain(found) == "");
      CHECK(found.order == accumulation::ascending);
      CHECK(found.peak_activations <= std::min(2 * ((ranks + 4) / 3), 2 * micro_batches));
      CHECK(found.peak_activations <= v_min::memory_limit(ranks));
      verdict lowered;
      lower(table.view(), {}, &lowered);
      CHECK(explain(lowered) == "");
      double const idle = cost(table.view()).idle_most;
      CHECK(idle <= 4 * (ranks - 1));
    }
  for (int ranks : {1, 3, 4})
    for (int micro_batches : {1, 4, 9}) {
      policy_checks::formulas_of(v_min{}, ranks, micro_batches);
      policy_checks::idle_of_halves(v_min{}, ranks, micro_batches);
    }
}

TEST_CASE("v_min says which rule is broken and what would be legal") { policy_checks::rules<v_min>(); }

TEST_CASE("v_min by any of its names") {
  for (char const* const name : {"v-min", "v_min", "VMin"}) CHECK(canonical_name(name) == "v-min");
}
