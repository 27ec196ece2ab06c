// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/csv.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

static_assert(figures_of(write_table<zero_bubble_h1>(2, 4).view()).bubble_rate == 1.0 / 13.0);

TEST_CASE("figures: spans, idle times, work and peaks of every rank") {
  auto const found = figures_of(write_table<one_f_one_b>(4, 8).view());
  CHECK(found.proof.playable());
  CHECK(found.cost.makespan == 33.0);
  CHECK(found.work == 24.0);
  CHECK(found.bubble_rate == 9.0 / 33.0);  // rank 0 begins first and ends last
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(found.ranks[rank].span == 33.0 - 3.0 * rank);
    CHECK(found.ranks[rank].busy == 24.0);
    CHECK(found.ranks[rank].idle == 9.0);
    CHECK(found.ranks[rank].work == 24.0);
    CHECK(found.ranks[rank].peaks.peak_activations == 4 - rank);
    CHECK(found.ranks[rank].peaks.peak_weight_contexts == 0);
  }
}

TEST_CASE("figures: the work is that of the rank with most, whatever makes it slow is not work") {
  stage_cost const stages[] = {{1.0, 1.0, 1.0}, {2.0, 2.0, 3.0}};
  slowdown const late[] = {{1, 2.0}};
  auto const table = write_table<zero_bubble_h1>(2, 5);
  CHECK(figures_of(table.view(), {.stages = stages}).work == 35.0);
  auto const slow = figures_of(table.view(), {.stages = stages, .slowdowns = late, .slowdown_count = 1});
  CHECK(slow.work == 35.0);
  CHECK(slow.ranks[1].busy == 70.0);
  CHECK(slow.bubble_rate == (slow.cost.longest_span - 35.0) / slow.cost.longest_span);
}

TEST_CASE("figures: forwards alone, and a program that cannot be played") {
  auto const forwards = figures_of(write_table<forward_only>(3, 6).view());
  CHECK(forwards.work == 6.0);
  CHECK(forwards.bubble_rate == 0.0);
  auto const stuck = figures_of(read_csv("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n").view());
  CHECK(stuck.proof.what == defect::deadlock);
  CHECK(stuck.ranks.size() == 0);
}
