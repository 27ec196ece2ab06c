// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/compare_schedules.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/latency_aware.hpp>
#include <weft/schedule/make_program.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace weft::schedule;

namespace {

// While compiling: hops of three passes, where the optimum beats every known order.
using far_apart = costs<1, 1, 1, 3>;
static_assert(cost(write_table<latency_aware<0, far_apart>>(2, 5).view(), far_apart::value).makespan == 19.0);
static_assert(cost(write_table<latency_aware<>>(4, 6).view()).makespan <=
              cost(write_table<zero_bubble_h2>(4, 6).view()).makespan);

struct setting {
  stage_cost every;
  double hop;
};
constexpr setting settings[] = {{{1.0, 1.0, 1.0}, 0.0},
                                {{1.0, 1.0, 1.0}, 0.5},
                                {{2.0, 2.0, 1.0}, 0.25},
                                {{1.0, 1.5, 2.0}, 2.0},
                                {{3.0, 5.0, 1.0}, 8.0}};

}  // namespace

TEST_CASE("latency_aware: by name never worse than the best schedule with a name") {
  for (auto const& [every, hop] : settings)
    for (int ranks : {1, 2, 4})
      for (int micro_batches : {1, 2, 6}) {
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        CAPTURE(hop);
        cost_model const model{.every = every, .hop = hop};
        schedule_wish wish;
        wish.costs = model;
        auto const lines = compare_schedules(ranks, micro_batches, wish, false);
        REQUIRE(lines.front().figures.why == left_out::none);
        auto const table = make_table("latency-aware", ranks, micro_batches, {.costs = &model});
        CHECK(std::string(table.view().name) == "latency-aware");
        auto const found = figures_of_candidate(table.view(), wish);
        CHECK(found.why == left_out::none);
        CHECK(found.makespan <= lines.front().figures.makespan * (1.0 + 1e-12));
        CHECK(make_program("crosspipe", ranks, micro_batches, {}, {.costs = &model}).view().is_lowered);
      }
}

TEST_CASE("latency_aware: as a type never worse than what runs one stage on each rank") {
  for (auto const& [every, hop] : settings)
    for (int ranks : {1, 2, 3, 5, 8})
      for (int micro_batches : {1, 3, 8, 16}) {
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        cost_model const model{.every = every, .hop = hop};
        auto const time = [&](auto const& policy) {
          return cost(write_table(ranks, micro_batches, policy).view(), model).makespan;
        };
        double const found = time(latency_aware_values{0, &model, false}) * (1.0 - 1e-12);
        CHECK(found <= time(gpipe{}));
        CHECK(found <= time(one_f_one_b{}));
        CHECK(found <= time(eager_1f1b{}));
        CHECK(found <= time(zero_bubble_h1{}));
        CHECK(found <= time(zero_bubble_h2{}));
      }
}

TEST_CASE("latency_aware: small shapes are proved to be the best there is, and better than any known order") {
  cost_model const model{.hop = 3.0};
  auto const found = latency_aware_values{0, &model}.search(2, 5);
  CHECK(found.is_proved);
  CHECK(found.score.makespan == 19.0);
  for (char const* const name : {"gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-h2", "zero-bubble-auto"})
    CHECK(cost(make_table(name, 2, 5, {.costs = &model}).view(), model).makespan >= 22.0);
}

TEST_CASE("latency_aware: keeps to its limit, with slow links and unequal stages") {
  stage_cost const stages[] = {{1.0, 1.0, 1.0}, {2.0, 3.0, 1.0}, {1.0, 2.0, 2.0}, {4.0, 1.0, 1.0}};
  link_cost const links[] = {{.latency = 0.5}, {.latency = 3.0, .bytes = 4.0, .bandwidth = 8.0}, {.latency = 0.25}};
  cost_model const model{.stages = stages, .links = links};
  for (int limit : {1, 2, 3, 4, 8}) {
    CAPTURE(limit);
    auto const typed = figures_of(write_table(4, 8, latency_aware_values{limit, &model}).view(), model);
    auto const named = figures_of(make_table("latency-aware", 4, 8, {.memory_limit = limit, .costs = &model}).view());
    for (int rank = 0; rank < 4; ++rank) CHECK(typed.ranks[rank].peaks.peak_activations <= limit);
    for (auto const& each : named.ranks) CHECK(each.peaks.peak_activations <= 2 * limit);  // two stages at most
    schedule_wish wish;
    wish.costs = model;
    wish.activations = limit;
    auto const lines = compare_schedules(4, 8, wish);
    for (auto const& line : lines)
      if (line.figures.why == left_out::none) CHECK(line.figures.activations <= limit);
    for (auto const& line : lines)
      if (std::string(line.entry->name) == "latency-aware") CHECK(!lines.front().figures.is_shorter_than(line.figures));
  }
}

TEST_CASE("latency_aware says which rule is broken and what would be legal") {
  CHECK(latency_aware<>::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(latency_aware<-1>::check(4, 4) == validity{rule::limit_holds_one, -1, 1});
  CHECK_THROWS_WITH_AS(make_table("latency-aware", 0, 4),
                       "weft::schedule::latency-aware: there is no rank to run on; use 1 or more (asked for 0, nearest "
                       "legal 1)",
                       weft::error);
}
