// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/zero_bubble_v.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("zero_bubble_v prints the orders that others published") {
  auto const made = write_table<zero_bubble_v>(2, 4);
  policy_checks::same_order(
      made.view(),
      "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,0I1,0W1,3F3,3I3,3W3,0I2,0W2,0I3,0W3\n"
      "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1F3,1I1,1W1,2F3,2I2,2W2,1I2,2I3,1I3,1W2,2W3,1W3\n");
  CHECK(cost(made.view()).makespan == 25.0);
  for (char const* schedule : {"zbv", "zbv_handcrafted"})
    policy_checks::for_each_listed(schedule, [](auto const& row, std::string const& text) {
      auto const table = write_table<zero_bubble_v>(row.ranks, row.micro_batches);
      policy_checks::same_order(table.view(), text);
      CHECK(cost(table.view()).makespan == row.makespan);
      CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
    });
}

TEST_CASE("zero_bubble_v: the formulas of its comment hold for every shape") {
  policy_checks::formulas<zero_bubble_v>();
  for (int ranks : {1, 2, 3, 4, 5, 8, 16})
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 9, 15, 31, 33}) {
      policy_checks::idle_of_halves(zero_bubble_v{}, ranks, micro_batches);
      if (micro_batches < 2 * ranks - 1) continue;
      auto const table = write_table<zero_bubble_v>(ranks, micro_batches);
      CHECK(cost(table.view()).makespan == 6 * micro_batches + ranks - 1);
      CHECK(policy_checks::longest_span(table.view()) == 6 * micro_batches);
    }
}

TEST_CASE("zero_bubble_v: first and last stage share a rank, and the turn needs no message") {
  auto const made = make_program<zero_bubble_v>(3, 4);
  auto const& graph = made.view().graph;
  CHECK(graph.rank_of(0) == graph.rank_of(5));
  CHECK(graph.rank_of(2) == graph.rank_of(3));
  for (action const& cell : made.view().row(2)) {
    CHECK_FALSE((cell.what == op::send_forward && cell.stage == 2));
    CHECK_FALSE((cell.what == op::receive_forward && cell.stage == 3));
  }
}

TEST_CASE("zero_bubble_v says which rule is broken and what would be legal") { policy_checks::rules<zero_bubble_v>(); }

TEST_CASE("zero_bubble_v by any of its names") {
  for (char const* const name : {"zb-v", "ZBV", "ZBVZeroBubble", "zero_bubble_v"})
    CHECK(canonical_name(name) == "zb-v");
  CHECK(make_program("zbv", 2, 2, {}, {.chunks = 2}).view().stages() == 4);
  CHECK_THROWS_WITH_AS(make_program("zbv", 2, 2, {}, {.chunks = 3}),
                       "weft::schedule::zb-v: this schedule has a number of chunks of its own; leave chunks out, or "
                       "choose one that takes them (asked for 3, nearest legal 2)",
                       weft::error);
  CHECK_THROWS_WITH_AS(make_program("zbv", 2, 2, {}, {.group = 3}),
                       "weft::schedule::zb-v: this schedule does not work in groups; leave the group out", weft::error);
}
