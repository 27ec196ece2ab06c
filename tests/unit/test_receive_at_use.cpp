// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/topology/placement.hpp>
#include <weft/topology/stage_graph.hpp>

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

TEST_CASE("receives at use: skip connections, whose messages go to several ranks at once") {
  auto const graph = weft::topology::stage_graph::chain(4).skip(0, 2).skip(0, 3).skip(1, 3);
  for (char const* name : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks : {2, 4})
      for (int count : {1, 3, 6}) {
        CAPTURE(name);
        CAPTURE(ranks);
        CAPTURE(count);
        // On two ranks, stages in pairs: 0 and 1, 2 and 3.
        constexpr int pairs[] = {0, 0, 1, 1};
        auto placed = weft::topology::stage_graph::copy_of(graph.view());
        program rows = make_table(name, 4, count);
        if (ranks == 2) {
          std::string text;
          for (int rank = 0; rank < 2; ++rank) {
            for (int micro_batch = 0; micro_batch < count; ++micro_batch)
              for (int stage = 2 * rank; stage < 2 * rank + 2; ++stage)
                text += std::to_string(stage) + "F" + std::to_string(micro_batch) + ",";
            for (int micro_batch = 0; micro_batch < count; ++micro_batch)
              for (int stage = 2 * rank + 1; stage >= 2 * rank; --stage)
                text += std::to_string(stage) + "B" + std::to_string(micro_batch) + ",";
            text += "\n";
          }
          rows = read_csv(text);
          placed.place(weft::topology::placement::map{pairs}, 2);
        } else {
          placed.place(weft::topology::placement::loop{}, 4);
        }
        auto view = rows.view();
        view.graph = placed.view();
        auto const made = lower(view, at_use);
        for (auto const model :
             {send_model::buffered, send_model::rendezvous, send_model::in_issue_order, send_model::blocking})
          CHECK(explain(play(made.view(), model)) == "");
      }
}

TEST_CASE("receives at use: a plan that is held to queues, or to blocking posts, is lowered for them") {
  CHECK(receives_under(send_model::in_issue_order) == receive_time::at_use);
  CHECK(receives_under(send_model::blocking) == receive_time::at_use);
  CHECK(receives_under(send_model::rendezvous) == receive_time::early);
}
