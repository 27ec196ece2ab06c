// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>

using namespace weft::schedule;

namespace {

constexpr double makespan_while_compiling() { return cost(write_table<one_f_one_b>(4, 8).view()).makespan; }
static_assert(makespan_while_compiling() == 33.0);

}  // namespace

TEST_CASE("cost: a timeline, action by action") {
  auto const made = make_program("gpipe", 2, 2, {.tied = tied_stages::none, .optimizer = false});
  auto const times = make_timeline(made.view());
  CHECK(times.summary.complete);
  CHECK(times.summary.makespan == 9.0);
  CHECK(times.summary.busiest == 6.0);
  CHECK(times.summary.idle_most == 3.0);
  CHECK(times.summary.idle_share(2) == 1.0 / 3.0);
  auto const of = [&](int rank, op what, int micro_batch) {
    for (auto const& each : times.actions)
      if (each.rank == rank && each.what.what == what && static_cast<int>(each.what.micro_batch) == micro_batch)
        return each;
    return timed_action{};
  };
  CHECK(of(0, op::forward, 1).begin == 1.0);
  CHECK(of(1, op::forward, 1).end == 3.0);
  CHECK(of(1, op::backward, 1).begin == 5.0);
  CHECK(of(0, op::backward, 0).begin == 5.0);
  CHECK(of(0, op::send_forward, 1).begin == 2.0);
  CHECK(times.ranks[0].busy == 6.0);
  CHECK(times.ranks[1].first == 1.0);
}

TEST_CASE("cost: the slowest stage sets the pace, hops and the end of a step are counted") {
  stage_cost const stages[] = {{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}};
  auto const made = make_program("1f1b", 2, 4);
  auto const uneven = cost(made.view(), {.stages = stages});
  CHECK(uneven.makespan == 1.0 + 4 * 6.0 + 2.0);
  CHECK(uneven.busiest == 24.0);
  auto const slow_wire = cost(made.view(), {.hop = 0.5});
  CHECK(slow_wire.makespan > cost(made.view()).makespan);
  CHECK(cost(made.view(), {.norm = 0.25, .step = 0.5}).makespan == cost(made.view()).makespan + 0.75);
}

TEST_CASE("cost: recompute costs one forward more per micro-batch") {
  auto const plain = cost(make_program("1f1b", 3, 6).view());
  auto const again = cost(make_program("1f1b", 3, 6, {.recompute = true}).view());
  CHECK(again.busiest == plain.busiest + 6.0);
}

TEST_CASE("cost: a program that cannot be played is not complete") {
  auto const stuck = read_csv("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK(!cost(stuck.view()).complete);
}
