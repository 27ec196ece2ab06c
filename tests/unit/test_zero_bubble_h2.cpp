// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/zero_bubble_h2.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft::schedule;

TEST_CASE("zero_bubble_h2: the paper's order, and no more time than a search with the same memory limit") {
  auto const made = write_table<zero_bubble_h2>(2, 4);
  policy_checks::same_order(made.view(),
                            "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
                            "1F0,1I0,1F1,1I1,1F2,1I2,1W0,1F3,1I3,1W1,1W2,1W3\n");
  CHECK(cost(made.view()).makespan == 13.0);
  policy_checks::for_each_listed("zb2p_mem2p-1", [](auto const& row, std::string const&) {
    auto const table = write_table<zero_bubble_h2>(row.ranks, row.micro_batches);
    CHECK(cost(table.view()).makespan <= row.makespan);
    CHECK(play(table.view()).peak_activations <= 2 * row.ranks - 1);
  });
}

TEST_CASE("zero_bubble_h2: the formulas of its comment hold for every shape") {
  policy_checks::formulas<zero_bubble_h2>();
  for (int ranks : {1, 2, 3, 4, 5, 8, 16})
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 9, 15, 31, 33}) {
      policy_checks::idle_of_halves(zero_bubble_h2{}, ranks, micro_batches);
      auto const table = write_table<zero_bubble_h2>(ranks, micro_batches);
      std::vector<rank_figures> figures(static_cast<std::size_t>(ranks));
      play(table.view(), send_model::rendezvous, figures.data());
      for (int rank = 0; rank < ranks; ++rank)
        CHECK(figures[static_cast<std::size_t>(rank)].peak_weight_contexts ==
              zero_bubble_h2::peak_weight_contexts(rank, ranks, micro_batches));
      double const makespan = cost(table.view()).makespan;
      if (micro_batches >= 2 * ranks - 1) {
        CHECK(makespan == 3 * micro_batches + ranks - 1);
        CHECK(policy_checks::longest_span(table.view()) == 3 * micro_batches);
      }
      // Never slower than ZB-H1, whatever the memory.
      CHECK(makespan <= cost(write_table<zero_bubble_h1>(ranks, micro_batches).view()).makespan);
    }
}

TEST_CASE("zero_bubble_h2 says which rule is broken and what would be legal") {
  policy_checks::rules<zero_bubble_h2>();
}

TEST_CASE("zero_bubble_h2 by any of its names") {
  for (char const* const name : {"zb-h2", "ZBH2", "zero_bubble_h2", "ZB2P"}) CHECK(canonical_name(name) == "zb-h2");
}
