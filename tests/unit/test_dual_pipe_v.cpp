// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/dual_pipe_v.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("dual_pipe_v prints the orders that others published") {
  auto const made = write_table<dual_pipe_v>(2, 4);
  policy_checks::same_order(
      made.view(),
      "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,"
      "0W3\n"
      "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,1B2,2I3,1I3,2W3,"
      "1W3\n");
  policy_checks::for_each_listed("dualpipev", [](auto const& row, std::string const& text) {
    auto const table = write_table<dual_pipe_v>(row.ranks, row.micro_batches);
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  });
  if (std::string const folder = published::folder(); !folder.empty())
    policy_checks::same_order(write_table<dual_pipe_v>(4, 10).view(),
                              published::read_file(folder + "/pytorch_dualpipev_p4_v2_m10.csv"));
}

TEST_CASE("dual_pipe_v: the formulas of its comment hold for every shape") {
  for (int ranks : {1, 2, 3, 4, 5, 8, 16})
    for (int micro_batches : {2 * ranks, 2 * ranks + 1, 3 * ranks, 4 * ranks + 1}) {
      policy_checks::formulas_of(dual_pipe_v{}, ranks, micro_batches);
      policy_checks::idle_of_halves(dual_pipe_v{}, ranks, micro_batches);
      CHECK(dual_pipe_v::idle(ranks, micro_batches, 3.0, 2.0, 1.0) ==
            cost(write_table<dual_pipe_v>(ranks, micro_batches).view(), {.every = {3.0, 2.0, 1.0}}).idle_most);
      CHECK(dual_pipe_v::idle(ranks, micro_batches, 1.0, 1.0, 1.0) == (ranks - 1) * (3.0 + 2.0 - 3.0));
    }
}

TEST_CASE("dual_pipe_v says which rule is broken and what would be legal") {
  CHECK(dual_pipe_v::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(dual_pipe_v::check(0, 4) == validity{rule::needs_a_rank, 0, 1});
  CHECK(dual_pipe_v::check(4, 7) == validity{rule::micro_batches_per_rank, 7, 8});
  CHECK(dual_pipe_v::check(3, 7).legal());
  CHECK(canonical_name("DualPipeV") == "dualpipe-v");
  CHECK(canonical_name("DualPipe") == "dualpipe");
}
