// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/chimera.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("chimera prints the orders that others published") {
  auto const made = write_table<chimera>(4, 4);
  policy_checks::same_order(made.view(),
                            "0F0,0F1,3F2,3B2,3F3,3B3,0B0,0B1\n1F0,2F2,1F1,2F3,2B2,1B0,2B3,1B1\n"
                            "1F2,2F0,1F3,2F1,2B0,1B2,2B1,1B3\n0F2,0F3,3F0,3B0,3F1,3B1,0B2,0B3\n");
  CHECK(cost(made.view()).makespan == 16.0);
  policy_checks::for_each_listed("chimera", [](auto const& row, std::string const& text) {
    auto const table = write_table<chimera>(row.ranks, row.micro_batches);
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  });
}

TEST_CASE("chimera: the formulas of its comment hold for every shape") {
  for (int ranks : {2, 4, 6, 8, 16})
    for (int micro_batches : {2, 4, 6, 8, 10, 12, 16, 24, 32, 48}) {
      policy_checks::formulas_of(chimera{}, ranks, micro_batches);
      if (micro_batches % ranks == 0) {
        CHECK(chimera::idle(ranks, micro_batches, 1.0, 1.0) == ranks - 2);
        int const units = micro_batches / ranks;
        CHECK(cost(write_table<chimera>(ranks, micro_batches).view()).idle_most == (ranks - 2) * (1 + units));
      }
      for (int rank = 0; rank < ranks; ++rank) CHECK(chimera::peak_activations(rank, ranks, micro_batches) <= ranks);
    }
}

TEST_CASE("chimera: idle slots of the paper with F = B") {
  auto const idle = [](int ranks, int micro_batches) {
    return cost(write_table<chimera>(ranks, micro_batches).view(), {.every = {1.0, 0.5, 0.5}});
  };
  CHECK(idle(4, 4).idle_most == 2.0);
  CHECK(idle(4, 4).makespan == 10.0);
  CHECK(idle(8, 8).idle_most == 6.0);
  CHECK(idle(8, 8).makespan == 22.0);
  CHECK(idle(4, 8).idle_most == 2.0);
  CHECK(idle(4, 8).makespan == 18.0);
}

TEST_CASE("chimera says which rule is broken and what would be legal") {
  CHECK(chimera::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(chimera::check(0, 4) == validity{rule::needs_a_rank, 0, 1});
  CHECK(chimera::check(3, 12) == validity{rule::needs_even_ranks, 3, 4});
  CHECK(chimera::check(4, 7) == validity{rule::needs_even_micro_batches, 7, 8});
  CHECK(chimera::check(8, 2).legal());
  CHECK(std::string(make_program("Chimera", 2, 2).view().name) == "chimera");
}
