// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule_support.hpp"

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

TEST_CASE("cost: a message takes latency and bytes over bandwidth, and queues behind the one before") {
  auto const one = write_table<gpipe>(2, 1);
  CHECK(cost(one.view(), {.link = {.latency = 0.5, .bytes = 10.0, .bandwidth = 5.0}}).makespan == 11.0);
  CHECK(cost(one.view(), {.hop = 0.25, .link = {.latency = 0.25}}).makespan == 7.0);
  // Two forwards leave at 1 and 2 over a wire that each takes for 4: they arrive at 5 and 9.
  cost_model const slow{.link = {.bytes = 4.0, .bandwidth = 1.0}};
  CHECK(cost(write_table<gpipe>(2, 2).view(), slow).makespan == 22.0);
  CHECK(cost(make_program("gpipe", 2, 2).view(), slow).makespan == 22.0);
  link_cost const links[] = {{.latency = 1.0}, {.latency = 3.0}};
  CHECK(cost(write_table<gpipe>(3, 1).view(), {.links = links}).makespan == 9.0 + 2.0 + 6.0);
}

TEST_CASE("cost: edges between the same two ranks share a wire where the model says so") {
  auto const table = write_table(2, 4, interleaved_1f1b_values{2, 0});
  auto const lowered = make_program("interleaved-1f1b", 2, 4, {.tied = tied_stages::none, .optimizer = false});
  cost_model model{.link = {.bytes = 5.0, .bandwidth = 2.0}};
  double const apart = cost(table.view(), model).makespan;
  CHECK(cost(lowered.view(), model).makespan == apart);
  model.queue = wire::per_rank_pair;
  double const shared = cost(table.view(), model).makespan;
  CHECK(shared > apart);
  CHECK(cost(lowered.view(), model).makespan == shared);
  model.link.bandwidth = 0.0;
  CHECK(cost(table.view(), model).makespan == 27.0);
}

TEST_CASE("cost: a transport that blocks holds the sender until its message has arrived") {
  cost_model model{.hop = 1.0};
  CHECK(cost(write_table<gpipe>(2, 2).view(), model).makespan == 11.0);
  model.messages = transfer::blocks;
  CHECK(cost(write_table<gpipe>(2, 2).view(), model).makespan == 13.0);
  CHECK(cost(make_program("gpipe", 2, 2).view(), model).makespan == 13.0);
}

TEST_CASE("cost: what a rank spends on messages itself is not idle transport") {
  rank_time times[2];
  cost_model const model{.link = {.send_busy = 0.25, .receive_busy = 0.5}};
  CHECK(cost(write_table<gpipe>(2, 1).view(), model, nullptr, times).makespan == 7.5);
  CHECK(times[0].messages == 0.75);
  CHECK(times[1].messages == 0.75);
  CHECK(times[0].busy == 3.0);
  CHECK(times[0].waited == 3.75);  // from 1.25 to the gradient's arrival at 5
  CHECK(cost(make_program("gpipe", 2, 1).view(), model).makespan == 7.5);
}

TEST_CASE("cost: costs of ranks, and ranks that are slower always or for a while") {
  stage_cost const ranks[] = {{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}};
  CHECK(cost(write_table<one_f_one_b>(2, 4).view(), {.ranks = ranks}).makespan == 27.0);
  double const factors[] = {1.0, 2.0};
  CHECK(cost(write_table<one_f_one_b>(2, 4).view(), {.rank_factors = factors}).makespan == 27.0);
  // Half of F before 0.5, the other half at half the speed; B from 1.5 on at full speed.
  slowdown const once[] = {{0, 2.0, 0.5, 1.5}};
  CHECK(cost(write_table<serial>(1, 1).view(), {.slowdowns = once, .slowdown_count = 1}).makespan == 3.5);
  // Two at once multiply: a quarter of the speed from 1 to 2.
  slowdown const twice[] = {{0, 2.0, 0.0, 2.0}, {0, 2.0, 1.0, 3.0}, {1, 9.0}};
  CHECK(cost(write_table<serial>(1, 1).view(), {.slowdowns = twice, .slowdown_count = 3}).makespan ==
        doctest::Approx(3.0 + (3.0 - 0.5 - 0.25 - 0.5)));
}

TEST_CASE("cost: a slow link multiplies what begins on it in its time") {
  auto const table = write_table<gpipe>(2, 1);
  slow_link const forth[] = {{0, 1, 3.0}};
  slow_link const back[] = {{1, 0, 3.0, 2.0}};
  slow_link const before[] = {{1, 0, 3.0, 0.0, 2.0}};
  CHECK(cost(table.view(), {.hop = 1.0, .slow_links = forth, .slow_link_count = 1}).makespan == 10.0);
  CHECK(cost(table.view(), {.hop = 1.0, .slow_links = back, .slow_link_count = 1}).makespan == 10.0);
  CHECK(cost(table.view(), {.hop = 1.0, .slow_links = before, .slow_link_count = 1}).makespan == 8.0);
}

TEST_CASE("cost: reductions begin at their place, overlap, and keep NORM and STEP waiting") {
  auto const made = make_program("1f1b", 2, 4, {.tied = tied_stages::none, .reduce_over_data = true});
  rank_time times[2];
  CHECK(cost(made.view(), {.step = 1.0, .reduce_data = 5.0}, nullptr, times).makespan == 21.0);
  CHECK(times[0].busy == 13.0);  // a reduction is not work of the rank
  CHECK(times[0].span() == 15.0);
  CHECK(times[1].span() == 12.0);
  double const reductions[] = {1.0, 10.0};  // rank 1 begins at 13
  CHECK(cost(made.view(), {.step = 1.0, .reductions = reductions}).makespan == 24.0);
  double const steps[] = {1.0, 4.0};
  CHECK(cost(made.view(), {.steps = steps}).makespan == 19.0);
  // Tied parameters: both come at 15 at the latest.
  CHECK(cost(make_program("1f1b", 2, 4).view(), {.reduce_gradient = 2.0, .norm = 0.5}).makespan == 17.5);
  auto const v = read_csv("0F0,3F0,3B0,0B0,0REDUCE_GRAD,3REDUCE_GRAD,NORM\n1F0,2F0,2B0,1B0,NORM\n");
  CHECK(cost(v.view(), {.reduce_gradient = 2.0}).makespan == 14.0);  // both on rank 0
}

TEST_CASE("cost: NORM waits for all ranks, for the rank before, or for nobody") {
  auto const made = make_program("1f1b", 2, 4, {.tied = tied_stages::none});
  rank_time times[2];
  cost_model model{.hop = 0.0, .norm = 0.5, .step = 1.0};
  cost(made.view(), model, nullptr, times);
  CHECK(times[1].last == 16.5);
  model.norm_waits = norm_wait::rank_before;
  cost(made.view(), model, nullptr, times);
  CHECK(times[0].last == 16.5);
  CHECK(times[1].last == 17.0);
  model.norm_waits = norm_wait::nobody;
  cost(made.view(), model, nullptr, times);
  CHECK(times[0].last == 16.5);
  CHECK(times[1].last == 14.5);
}

TEST_CASE("cost: a fused pair is one slot") {
  // Rank 1 fuses F1 and B0: both begin when both are ready, and both end together.
  auto const table = write_table<gpipe>(2, 2);
  schedule_support::editable edited(table.view());
  edited.rows[1][1].part = parts::fused_forward;
  edited.rows[1][2].part = parts::fused_backward;
  CHECK(cost(edited.view()).makespan == 9.0);
  // F1 would be ready at 2, B0 at 2: both from 2 to 4.5, then B1 to 6.5 while rank 0 has B0 to 6.5, then B1.
  CHECK(cost(edited.view(), {.every = {1.0, 1.0, 1.0, 2.5}}).makespan == 8.5);
  rank_time times[2];
  cost(edited.view(), {.every = {1.0, 1.0, 1.0, 2.5}}, nullptr, times);
  CHECK(times[1].busy == 1.0 + 2.5 + 2.0);
}

TEST_CASE("cost: for whom each rank waited") {
  double waits[9] = {};
  rank_time times[3];
  cost(write_table<gpipe>(3, 1).view(), {}, nullptr, times, waits);
  CHECK(waits[0 * 3 + 1] == 6.0);  // from 1 to 7
  CHECK(waits[1 * 3 + 2] == 3.0);
  CHECK(times[0].waited == 6.0);
  CHECK(times[2].waited == 0.0);  // before its first pass nobody is said to wait
}
