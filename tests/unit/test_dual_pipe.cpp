// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/dual_pipe.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("dual_pipe prints the orders that others published") {
  auto const made = write_table<dual_pipe>(2, 4);
  policy_checks::same_order(made.view(),
                            "0F0,1F2,0F1,1B2,(1F3;0B0)OVERLAP_F_B,1B3,0I1,0W1\n"
                            "0F2,1F0,0F3,1B0,(1F1;0B2)OVERLAP_F_B,1B1,0I3,0W3\n");
  policy_checks::for_each_listed("dualpipe", [](auto const& row, std::string const& text) {
    auto const table = write_table<dual_pipe>(row.ranks, row.micro_batches);
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  });
}

TEST_CASE("dual_pipe: the formulas of its comment hold for every shape") {
  for (int ranks : {2, 4, 6, 8, 16})
    for (int micro_batches : {2 * ranks, 2 * ranks + 2, 3 * ranks, 4 * ranks, 5 * ranks + 2}) {
      policy_checks::formulas_of(dual_pipe{}, ranks, micro_batches);
      policy_checks::idle_of_halves(dual_pipe{}, ranks, micro_batches);
      CHECK(dual_pipe::idle(ranks, micro_batches, 3.0, 2.0, 1.0) ==
            cost(write_table<dual_pipe>(ranks, micro_batches).view(), {.every = {3.0, 2.0, 1.0}}).idle_most);
      CHECK(dual_pipe::idle(ranks, micro_batches, 1.0, 1.0, 1.0) == (ranks / 2 - 1) * (3.0 + 2.0 - 3.0));
    }
}

TEST_CASE("dual_pipe: every micro-batch has one copy, and pairs are neighbours of two directions") {
  auto const table = write_table<dual_pipe>(4, 10);
  for (int rank = 0; rank < 4; ++rank) {
    auto const row = table.view().row(rank);
    for (int index = 0; index < row.size; ++index) {
      CHECK(row[index].copy == (row[index].micro_batch < 5 ? 0 : 1));
      if (row[index].part != parts::fused_forward) continue;
      REQUIRE(index + 1 < row.size);
      CHECK(row[index].what == op::forward);
      CHECK(row[index + 1].what == op::backward);
      CHECK(row[index + 1].part == parts::fused_backward);
      CHECK(row[index].copy != row[index + 1].copy);
    }
  }
}

TEST_CASE("dual_pipe says which rule is broken and what would be legal") {
  CHECK(dual_pipe::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(dual_pipe::check(0, 4) == validity{rule::needs_a_rank, 0, 1});
  CHECK(dual_pipe::check(3, 12) == validity{rule::needs_even_ranks, 3, 4});
  CHECK(dual_pipe::check(1, 4) == validity{rule::needs_even_ranks, 1, 2});
  CHECK(dual_pipe::check(4, 7) == validity{rule::micro_batches_per_rank, 7, 8});
  CHECK(dual_pipe::check(4, 9) == validity{rule::needs_even_micro_batches, 9, 10});
  CHECK_THROWS_WITH_AS(make_program("dualpipe", 4, 6),
                       "weft::schedule::dualpipe: both directions must be filled; use micro_batches 2 or more for each "
                       "rank (asked for 6, nearest legal 8)",
                       weft::error);
}
