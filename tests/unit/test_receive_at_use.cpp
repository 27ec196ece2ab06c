// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>

#include "every_schedule.hpp"
#include "schedule_support.hpp"

#include <random>
#include <string>

using namespace weft::schedule;
using schedule_support::letters;

namespace {

constexpr lower_options at_use{.receives = receive_time::at_use};

std::string row(program const& made, int rank) { return letters(made.view().row(rank), false); }

}  // namespace

TEST_CASE("receives at use: rows of 1f1b, written out") {
  auto const made = make_program("1f1b", 2, 3, at_use);
  CHECK(row(made, 0) == "F0 SEND_F0 F1 SEND_F1 RECV_B0 B0 F2 RECV_B1 SEND_F2 B1 RECV_B2 B2 REDUCE_GRAD NORM STEP");
  CHECK(row(made, 1) == "RECV_F0 F0 B0 RECV_F1 SEND_B0 F1 B1 SEND_B1 RECV_F2 F2 B2 SEND_B2 REDUCE_GRAD NORM STEP");
}

TEST_CASE("receives at use: two ranks that would both send first get one order of posts") {
  // Breadth first: rank 0 still sends F of stage 0 when rank 1 sends the first F of its own towards stage 2.
  auto const table = read_csv(
      "0F0,0F1,0F2,0F3,2F0,2F1,2F2,2F3,2B0,2B1,2B2,2B3,0B0,0B1,0B2,0B3\n"
      "1F0,1F1,1F2,1F3,3F0,3F1,3F2,3F3,3B0,3B1,3B2,3B3,1B0,1B1,1B2,1B3\n");
  auto const naive = passes::assign_slots(passes::defer_receives(lower_once(table.view()).view()).view());
  CHECK(play(naive.view(), send_model::rendezvous).playable());
  CHECK(play(naive.view(), send_model::in_issue_order).what == defect::deadlock);
  auto const made = lower(table.view(), at_use);
  for (auto const model :
       {send_model::buffered, send_model::rendezvous, send_model::in_issue_order, send_model::blocking})
    CHECK(explain(play(made.view(), model)) == "");
}

TEST_CASE("receives at use: every schedule plays under every send model") {
  int const cases = every_schedule::for_all(8, 16, [](auto const& at, program_view const& table) {
    INFO(at.text());
    for (bool recompute : {false, true}) {
      lower_options options = at_use;
      options.recompute = recompute;
      auto const made = lower(table, options);
      for (auto const model :
           {send_model::buffered, send_model::rendezvous, send_model::in_issue_order, send_model::blocking}) {
        auto const found = play(made.view(), model);
        CHECK(explain(found) == "");
        CHECK(found.pair_order_matches);
      }
    }
  });
  CHECK(cases >= 500);
}
