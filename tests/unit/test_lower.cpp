// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>

#include "schedule_support.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace weft::schedule;
using schedule_support::letters;

namespace {

std::string row(program const& made, int rank) { return letters(made.view().row(rank), false); }

}  // namespace

TEST_CASE("lower: rows of 1f1b on two ranks, written out") {
  auto const made = make_program("1f1b", 2, 3);
  CHECK(row(made, 0) == "RECV_B0 RECV_B1 F0 SEND_F0 F1 SEND_F1 B0 RECV_B2 F2 SEND_F2 B1 B2 REDUCE_GRAD NORM STEP");
  CHECK(row(made, 1) == "RECV_F0 RECV_F1 F0 B0 SEND_B0 RECV_F2 F1 B1 SEND_B1 F2 B2 SEND_B2 REDUCE_GRAD NORM STEP");
  auto const slots = made.view().slots;
  CHECK(slots[0].activation == 2);
  CHECK(slots[0].send_forward == 2);
  CHECK(slots[0].receive_backward == 2);
  CHECK(slots[0].receive_forward == 0);
  CHECK(slots[1].activation == 1);
  CHECK(slots[1].receive_forward == 2);
  CHECK(slots[1].send_backward == 2);
  CHECK(slots[1].weight_context == 0);
}

TEST_CASE("lower: options for the end of a row") {
  auto const last = [](lower_options const& options, int rank) {
    auto const made = make_program("gpipe", 3, 1, options);
    std::string const text = row(made, rank);
    return text.substr(text.find('B', text.rfind(" B") + 1));
  };
  CHECK(last({}, 0) == "B0 REDUCE_GRAD NORM STEP");
  CHECK(last({}, 1) == "B0 SEND_B0 NORM STEP");
  CHECK(last({.tied = tied_stages::none}, 2) == "B0 SEND_B0 NORM STEP");
  CHECK(last({.tied = tied_stages::none, .optimizer = false}, 2) == "B0 SEND_B0");
}

TEST_CASE("lower: the reduction over the data axis begins right after a stage's last backward") {
  lower_options const options{.reduce_over_data = true};
  auto const made = make_program("1f1b", 2, 2, options);
  CHECK(row(made, 0) == "RECV_B0 RECV_B1 F0 SEND_F0 F1 SEND_F1 B0 B1 REDUCE_GRAD REDUCE_GRAD NORM STEP");
  CHECK(row(made, 1) == "RECV_F0 RECV_F1 F0 B0 SEND_B0 F1 B1 SEND_B1 REDUCE_GRAD REDUCE_GRAD NORM STEP");
  CHECK(made.view().work.reduces_over_data);
  CHECK(made.view().row(1)[8].group == static_cast<int>(reduction::data));
  CHECK(made.view().row(1)[9].group == static_cast<int>(reduction::tied));
  // With the halves of backward apart, W is the last one; two stages of a rank do not wait for each other.
  auto const split = lower(read_csv("0F0,0F1,1F0,1F1,1I0,1I1,1W0,1W1,0I0,0W0,0I1,0W1\n").view(), options);
  CHECK(row(split, 0) ==
        "F0 F1 F0 F1 I0 I1 W0 W1 REDUCE_GRAD I0 W0 I1 W1 REDUCE_GRAD REDUCE_GRAD REDUCE_GRAD NORM STEP STEP");
  CHECK_FALSE(make_program("1f1b", 2, 2).view().work.reduces_over_data);
}

TEST_CASE("lower: recompute stands before the backward, and activations live from R on") {
  auto const made = make_program("1f1b", 2, 4, {.recompute = true});
  CHECK(letters(made.view().row(0)) == "F0 F1 R0 B0 F2 R1 B1 F3 R2 B2 R3 B3");
  CHECK(made.view().slots[0].activation == 1);
  auto const found = play(made.view());
  CHECK(found.peak_activations == 1);
  CHECK(found.peak_in_flight == 2);
  int forwards = 0;
  int recomputes = 0;
  for (int rank = 0; rank < 2; ++rank)
    for (action const& cell : made.view().row(rank)) {
      forwards += cell.what == op::forward;
      recomputes += cell.what == op::recompute;
    }
  CHECK(forwards == 8);
  CHECK(recomputes == 8);
}

TEST_CASE("lower: recompute runs once per micro-batch where backward is split") {
  auto const table = read_csv("0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1W0,1I1,1W1\n");
  auto const made = make_program(table.view(), {.recompute = true});
  CHECK(letters(made.view().row(1)) == "F0 R0 I0 F1 W0 R1 I1 W1");
  CHECK(play(made.view()).playable());
}

TEST_CASE("lower: slots are used again once their last reader has run") {
  // The published liveness example: I does not release, W does.
  auto const table = read_csv("0F0,0F1,0I0,0F2,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n");
  auto const made = make_program(table.view(), {.tied = tied_stages::none, .optimizer = false});
  std::map<int, int> slot_of;
  for (action const& cell : made.view().row(0))
    if (cell.what == op::forward) slot_of[static_cast<int>(cell.micro_batch)] = cell.slot;
  CHECK(slot_of == std::map<int, int>{{0, 0}, {1, 1}, {2, 2}, {3, 0}});
  CHECK(made.view().slots[0].activation == 3);
  CHECK(made.view().slots[0].weight_context == 1);
}

TEST_CASE("lower: every program plays under rendezvous, with and without recompute") {
  for (char const* name : {"gpipe", "1f1b", "forward_only"})
    for (int ranks = 1; ranks <= 8; ++ranks)
      for (int micro_batches : {1, 2, 3, 5, 8, 13})
        for (bool recompute : {false, true}) {
          CAPTURE(name);
          CAPTURE(ranks);
          CAPTURE(micro_batches);
          auto const made = make_program(name, ranks, micro_batches, {.recompute = recompute});
          CHECK(play(made.view(), send_model::rendezvous).playable());
          CHECK(play(made.view(), send_model::buffered).playable());
          CHECK(play(made.view()).largest_tag < 2 * ranks);
        }
}

TEST_CASE("lower: every message is posted once on either side, in one order, with one tag per edge and direction") {
  auto const made = make_program("1f1b", 4, 9);
  std::map<std::pair<int, bool>, std::vector<int>> sends;
  std::map<std::pair<int, bool>, std::vector<int>> receives;
  for (int rank = 0; rank < 4; ++rank)
    for (action const& cell : made.view().row(rank)) {
      if (!traits_of(cell.what).is_post) continue;
      bool const forward = traits_of(cell.what).is_forward_direction;
      bool const is_send = traits_of(cell.what).is_send;
      int const edge = is_send == forward ? cell.stage : cell.stage - 1;
      (is_send ? sends : receives)[{edge, forward}].push_back(static_cast<int>(cell.micro_batch));
    }
  CHECK(sends.size() == 6);
  CHECK(sends == receives);
  for (auto const& each : sends) CHECK(each.second == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("lower: skip connections have edges, ordinals and slots of their own") {
  auto const graph =
      weft::topology::stage_graph::chain(4).skip(0, 2).skip(0, 3).place(weft::topology::placement::loop{}, 4);
  for (char const* name : {"gpipe", "1f1b"}) {
    auto const chain = name == std::string("gpipe") ? write_table<gpipe>(4, 6) : write_table<one_f_one_b>(4, 6);
    auto view = chain.view();
    view.graph = graph.view();
    auto const made = make_program(view);
    auto const found = play(made.view());
    CHECK(found.playable());
    CHECK(found.largest_tag == 9);
    // F of stage 0 is followed by its three sends: to stages 1, 2 and 3, in graph order.
    auto const first = made.view().row(0);
    int at = 0;
    while (first[at].what != op::forward) ++at;
    for (int ordinal = 0; ordinal < 3; ++ordinal) {
      CHECK(first[at + 1 + ordinal].what == op::send_forward);
      CHECK(first[at + 1 + ordinal].group == ordinal);
    }
    // Stage 3 receives from stages 0 and 2.
    std::set<int> groups;
    for (action const& cell : made.view().row(3))
      if (cell.what == op::receive_forward) groups.insert(cell.group);
    CHECK(groups == std::set<int>{0, 1});
  }
}

TEST_CASE("lower: a frozen prefix has no backward, no message back, and no step") {
  auto const table =
      read_csv("0F0,0F1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n", {.work = {true, true, 1}, .infer_work = false});
  auto const made = make_program(table.view());
  CHECK(row(made, 0) == "F0 SEND_F0 F1 SEND_F1 NORM");
  CHECK(row(made, 1).find("SEND_B") == std::string::npos);
  CHECK(row(made, 2).find("SEND_B") != std::string::npos);
}

TEST_CASE("lower: a table that cannot be played is refused with its defect") {
  auto const table = read_csv("0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n");
  CHECK(make_program(table.view()).view().ranks() == 2);
  auto const stuck = read_csv("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK_THROWS_AS(make_program(stuck.view()), weft::error);
  try {
    make_program(stuck.view());
  } catch (weft::error const& found) {
    CHECK(std::string(found.what()).find("deadlock: rank 0 stands at action 1 (0B0)") != std::string::npos);
    CHECK(found.location().rank == 0);
  }
}

TEST_CASE("lower: receives follow the sender's order, with as many slots as the receiver's order needs") {
  auto const table = read_csv("0F3,0F2,0F1,0F0,0B0,0B1,0B2,0B3\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n");
  auto const made = make_program(table.view());
  std::vector<int> order;
  for (action const& cell : made.view().row(1))
    if (cell.what == op::receive_forward) order.push_back(static_cast<int>(cell.micro_batch));
  CHECK(order == std::vector<int>{3, 2, 1, 0});
  CHECK(made.view().slots[1].receive_forward == 4);
}

TEST_CASE("make_program: a name that does not exist") {
  CHECK_THROWS_WITH_AS(
      make_program("zigzag", 2, 4),
      ("weft::schedule::zigzag: there is no schedule of this name; choose " + schedule_names()).c_str(), weft::error);
}
