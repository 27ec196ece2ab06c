// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/delay_report.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/write_table.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("delay_report: a straggler costs what its work grows by, and its neighbours wait for it") {
  auto const table = write_table<one_f_one_b>(4, 8);
  auto const found = cost_of_straggler(table.view(), {}, 2, 1.5);
  CHECK(found.complete);
  CHECK(found.before == 33.0);
  // Rank 2 begins at 2, works for 36, waits for 1.5 in its warm-up (F1 takes it longer, so it waits less for B0), and
  // two backwards follow its last.
  CHECK(found.after == 2.0 + 36.0 + 1.5 + 4.0);
  CHECK(found.slowdown() == doctest::Approx(10.5 / 33.0));
  CHECK(found.ranks[2].idle_before == 9.0);
  CHECK(found.ranks[2].idle_after == 7.5);
  CHECK(found.ranks[0].idle_after == 19.5);
  CHECK(found.ranks[1].waits_for == 2);
  CHECK(found.ranks[3].waits_for == 2);
  CHECK(found.ranks[0].waits_for == 1);
  CHECK(found.waits_most != 2);
  CHECK(explain(found).rfind("the step takes 43.5 in place of 33 (+31.8 %); rank ", 0) == 0);
}

TEST_CASE("delay_report: a slow link slows both directions, whoever sits behind it waits") {
  auto const table = write_table<gpipe>(2, 1);
  auto const found = cost_of_slow_link(table.view(), {.hop = 1.0}, 1, 0, 3.0);
  CHECK(found.before == 8.0);
  CHECK(found.after == 12.0);
  CHECK(found.waits_most == 0);
  CHECK(found.ranks[0].waited_before == 5.0);
  CHECK(found.ranks[0].waited_after == 9.0);
  CHECK(found.ranks[0].waits_for == 1);
  CHECK(explain(found) ==
        "the step takes 12 in place of 8 (+50.0 %); rank 0 waits most: 9 in place of 5, 9 of it for rank 1");
}

TEST_CASE("delay_report: what a change does not touch costs nothing") {
  auto const table = write_table<one_f_one_b>(3, 6);
  auto const found = cost_of_slow_link(table.view(), {}, 0, 1, 10.0);  // without a hop time, ten times nothing
  CHECK(found.slowdown() == 0.0);
  CHECK(found.waits_most == -1);
  CHECK(explain(found) == "the step takes 24 in place of 24 (+0.0 %); no rank waits longer for messages");
}
