// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/cost.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/serial.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

using namespace weft::schedule;
using schedule_support::letters;

TEST_CASE("serial is one rank, one micro-batch after the other") {
  auto const made = make_program("serial", 1, 3);
  CHECK(letters(made.view().row(0)) == "F0 B0 F1 B1 F2 B2");
  CHECK(letters(made.view().row(0), false) == "F0 B0 F1 B1 F2 B2 REDUCE_GRAD NORM STEP");
  auto const found = play(made.view());
  CHECK(found.playable());
  CHECK(found.peak_activations == serial::peak_activations(0, 1, 3));
  CHECK(found.largest_tag == -1);
  auto const time = cost(made.view());
  CHECK(time.makespan == 9.0);
  CHECK(time.idle_most == serial::idle(1, 3, 1.0, 2.0));
}

TEST_CASE("serial on several ranks says what is possible") {
  CHECK(serial::check(4, 8) == validity{rule::needs_exactly_one_rank, 4, 1});
  CHECK_THROWS_WITH_AS(
      make_program("serial", 4, 8),
      "weft::schedule::serial: the serial schedule runs on 1 rank; start 1 rank, or choose gpipe, one_f_one_b "
      "(1f1b) or zero_bubble_h1 (zb-h1), "
      "which run on any number (asked for 4, nearest legal 1)",
      weft::error);
}
