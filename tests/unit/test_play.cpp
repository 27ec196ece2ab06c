// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <algorithm>
#include <random>

using namespace weft::schedule;
using schedule_support::editable;

namespace {

verdict played(char const* text) { return play(read_csv(text).view()); }

/// Another way to say whether a lowered program ends under rendezvous: one action at a time, everything looked up.
bool ends_by_hand(program_view const& program) {
  struct key {
    op what;
    int stage, micro_batch, group;
    bool operator==(key const&) const = default;
  };
  auto const key_of = [](action const& cell) {
    return key{cell.what, cell.stage, static_cast<int>(cell.micro_batch), cell.group};
  };
  std::vector<int> position(static_cast<std::size_t>(program.ranks()), 0);
  auto const posted = [&](op what, int stage, int micro_batch, int group) {
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (int at = 0; at < position[static_cast<std::size_t>(rank)]; ++at)
        if (key_of(program.row(rank)[at]) == key{what, stage, micro_batch, group}) return true;
    return false;
  };
  auto const may_run = [&](int rank, int at) {
    action const& cell = program.row(rank)[at];
    bool const forward = cell.what == op::forward;
    bool const tied = cell.what == op::reduce_gradient && cell.group == 0;
    if (cell.what == op::norm || tied) {  // all ranks that have one meet in it
      int before_it = 0;
      for (int index = 0; index < at; ++index)
        before_it += program.row(rank)[index].what == cell.what && program.row(rank)[index].group == cell.group;
      for (int other = 0; other < program.ranks(); ++other) {
        int seen = 0;
        for (int index = 0; index < program.row(other).size; ++index) {
          action const& theirs = program.row(other)[index];
          if (theirs.what != cell.what || theirs.group != cell.group) continue;
          if (seen++ == before_it && position[static_cast<std::size_t>(other)] < index) return false;
        }
        if (seen > 0 && seen <= before_it) return false;
      }
    }
    if (!forward && cell.what != op::backward) return true;
    int const micro_batch = static_cast<int>(cell.micro_batch);
    int const before = forward ? cell.stage - 1 : cell.stage + 1;
    if (before >= 0 && before < program.stages() &&
        !posted(forward ? op::send_forward : op::send_backward, before, micro_batch, 0))
      return false;
    // The send after this action uses a slot; the send before in that slot must have been received.
    int slot = -1;
    for (action const& other : program.row(rank))
      if (other.what == (forward ? op::send_forward : op::send_backward) && other.stage == cell.stage &&
          other.micro_batch == cell.micro_batch)
        slot = other.slot;
    if (slot < 0) return true;
    int last = -1;
    for (int index = 0; index < at; ++index) {
      action const& other = program.row(rank)[index];
      if (other.what == (forward ? op::send_forward : op::send_backward) && other.stage == cell.stage &&
          other.slot == slot)
        last = static_cast<int>(other.micro_batch);
    }
    int const after = forward ? cell.stage + 1 : cell.stage - 1;
    return last < 0 || posted(forward ? op::receive_forward : op::receive_backward, after, last, 0);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      int& at = position[static_cast<std::size_t>(rank)];
      if (at < program.row(rank).size && may_run(rank, at)) {
        ++at;
        moved = true;
      }
    }
  }
  for (int rank = 0; rank < program.ranks(); ++rank)
    if (position[static_cast<std::size_t>(rank)] < program.row(rank).size) return false;
  return true;
}

}  // namespace

TEST_CASE("play refuses the tables that must be refused, with the reason") {
  CHECK(explain(played("0F0,0F0\n")) == "rank 0, action 1 (0F0): multiple forwards of one micro-batch; keep one");
  CHECK(played("0F0,0I0,0I0\n").what == defect::duplicate_backward);
  CHECK(played("0F0,0B0,0W0\n").what == defect::duplicate_weight);
  CHECK(explain(played("0F0,0B0,0W0\n")).find("multiple release actions") != std::string::npos);
  CHECK(played("0B0\n").what == defect::missing_forward);
  CHECK(explain(played("0B0\n")) == "stage 0, micro-batch 0: forward action missing; add F on rank 0");
}

TEST_CASE("play names each defect, and where it is") {
  CHECK(played("0F0,0F1,0B0\n").what == defect::missing_backward);
  CHECK(played("0F0,0F1,0B0\n").micro_batch == 1);
  CHECK(played("0F0,0I0\n").what == defect::missing_weight);
  CHECK(played("0B0,0F0\n").what == defect::backward_before_forward);
  CHECK(played("0F0,0W0,0I0\n").what == defect::weight_before_input);
  CHECK(played("0R0,0F0,0B0\n").what == defect::recompute_misplaced);
  CHECK(played("0F0,0B0,0R0\n").what == defect::recompute_misplaced);
  CHECK(played("0F0,0R0,0R0,0B0\n").what == defect::recompute_misplaced);
  CHECK(played("0F0,0STEP,0B0\n").what == defect::step_too_early);
  CHECK(played("0F0,0B0,0REDUCE_GRAD,NORM,0STEP\n").playable());
  auto const local = played("1F0,0F0,1B0,0B0\n");
  CHECK(local.what == defect::input_not_ready);
  CHECK(explain(local) == "rank 0, action 0 (1F0): needs 0F0, which comes later on the same rank; exchange them");
}

TEST_CASE("play: every trained stage is reduced over the data axis once, where the program says so") {
  auto const made = make_program("1f1b", 3, 4, {.reduce_over_data = true});
  CHECK(play(made.view()).playable());
  editable changed(made.view());
  auto& last = changed.rows[2];
  auto const at = std::find_if(last.begin(), last.end(), [](action const& cell) {
    return cell.what == op::reduce_gradient && cell.group == static_cast<int>(reduction::data);
  });
  REQUIRE(at != last.end());
  action const cell = *at;
  last.erase(at);
  auto const lost = changed.play();
  CHECK(lost.what == defect::missing_reduction);
  CHECK(explain(lost) ==
        "stage 2 has no REDUCE_GRAD over the data axis, so its replicas would drift apart; add one on rank 2 after "
        "the stage's last backward");
  auto const norm = [&] {
    return std::find_if(last.begin(), last.end(), [](action const& each) { return each.what == op::norm; });
  };
  last.insert(norm(), cell);
  last.insert(norm(), cell);
  CHECK(changed.play().what == defect::duplicate_reduction);
  last.erase(norm() - 1);
  CHECK(changed.play().playable());
  last.erase(norm() - 1);
  last.insert(last.begin(), cell);
  CHECK(changed.play().what == defect::step_too_early);
  auto const plain = make_program("1f1b", 3, 4);
  editable foreign(plain.view());
  foreign.rows[2].insert(foreign.rows[2].end() - 2, cell);
  CHECK(foreign.play().what == defect::unexpected_action);
}

TEST_CASE("play: NORM stands once on every rank, after the last backward and before the first STEP") {
  CHECK(played("0F0,0B0,0REDUCE_GRAD,NORM,0STEP\n1F0,1B0,NORM,1STEP\n").playable());
  CHECK(played("0F0,0B0\n1F0,1B0\n").playable());
  auto const missing = played("0F0,0B0,NORM,0STEP\n1F0,1B0,1STEP\n");
  CHECK(missing.what == defect::missing_norm);
  CHECK(missing.rank == 1);
  CHECK(explain(missing) ==
        "rank 1 has no NORM although the program has NORM or STEP; all ranks take part, so add one before its STEPs");
  CHECK(played("0F0,0B0\n1F0,1B0,NORM,1STEP\n").rank == 0);
  CHECK(played("0F0,0B0,0STEP\n").what == defect::missing_norm);
  auto const doubled = played("0F0,0B0,NORM,0STEP\n1F0,1B0,NORM,NORM,1STEP\n");
  CHECK(doubled.what == defect::duplicate_norm);
  CHECK(doubled.rank == 1);
  CHECK(explain(doubled) ==
        "rank 1, action 3 (NORM): a second NORM on one rank, which no other rank answers; keep one");
  auto const early = played("0F0,0F1,0B0,NORM,0B1,0STEP\n");
  CHECK(early.what == defect::norm_too_early);
  CHECK(explain(early) ==
        "rank 0, action 3 (NORM): comes before the rank's last backward or REDUCE_GRAD; move it behind them");
  CHECK(played("0F0,0I0,NORM,0W0,0STEP\n").what == defect::norm_too_early);
  CHECK(played("0F0,0B0,NORM,0REDUCE_GRAD,0STEP\n").what == defect::norm_too_early);
  auto const late = played("0F0,0B0,NORM,0STEP\n1F0,1B0,1STEP,NORM\n");
  CHECK(late.what == defect::norm_after_step);
  CHECK(explain(late) == "rank 1, action 3 (NORM): comes after a STEP, which needs its result; move it before");
  // Two stages of a rank: behind the last backward of both.
  CHECK(played("0F0,1F0,1B0,NORM,0B0,0STEP,1STEP\n").what == defect::norm_too_early);
  CHECK(read_csv("0F0,NORM\n").view().work.backward == false);
  CHECK(played("0F0,NORM\n").what == defect::unexpected_action);
  // What `lower` makes, with one rank's NORM gone.
  auto const made = make_program("1f1b", 3, 4);
  editable lost(made.view());
  std::erase_if(lost.rows[2], [](action const& cell) { return cell.what == op::norm; });
  CHECK(lost.play().what == defect::missing_norm);
  CHECK(lost.play().rank == 2);
}

TEST_CASE("play: of several defects the first by the documented priority, then by rank") {
  // A missing backward on rank 0, a double forward on rank 1.
  auto const found = played("0F0,0F1,0B0\n1F0,1F0,1F1,1B0,1B1\n");
  CHECK(found.what == defect::duplicate_forward);
  CHECK(found.rank == 1);
  CHECK(found.position == 1);
}

TEST_CASE("play: ranges") {
  auto const table = write_table<one_f_one_b>(2, 3);
  editable stage(table.view());
  stage.rows[1][2].stage = 2;
  CHECK(stage.play().what == defect::out_of_range);
  editable micro_batch(table.view());
  micro_batch.rows[1][2].micro_batch = 3;
  CHECK(micro_batch.play().what == defect::out_of_range);
  CHECK(explain(micro_batch.play()) == "rank 1, action 2 (1F3): 3 is outside 0 .. 2; remove the action");
  editable huge(table.view());
  huge.rows[0][0].micro_batch = 0xFFFFFFFFu;
  CHECK(huge.play().what == defect::out_of_range);
  editable moved(table.view());
  std::swap(moved.rows[0], moved.rows[1]);
  CHECK(moved.play().what == defect::wrong_rank);
  editable copy(table.view());
  copy.rows[0][0].copy = 1;
  CHECK(copy.play().what == defect::out_of_range);
}

TEST_CASE("play: messages that are lost, doubled, late, or in another order") {
  auto const made = make_program("1f1b", 3, 4);
  auto const find = [](std::vector<action> const& row, op what, unsigned micro_batch) {
    std::size_t at = 0;
    while (row[at].what != what || row[at].micro_batch != micro_batch) ++at;
    return at;
  };
  auto const erase = [&](int rank, op what, unsigned micro_batch) {
    editable edited(made.view());
    auto& row = edited.rows[static_cast<std::size_t>(rank)];
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(find(row, what, micro_batch)));
    return edited.play();
  };
  auto const lost_send = erase(1, op::send_forward, 2);
  CHECK(lost_send.what == defect::missing_send);
  CHECK(lost_send.rank == 1);
  CHECK(lost_send.micro_batch == 2);
  CHECK(explain(lost_send) == "stage 1, micro-batch 2: SEND_F is missing on rank 1; rank 2 waits for it");
  auto const lost_receive = erase(0, op::receive_backward, 3);
  CHECK(lost_receive.what == defect::missing_receive);
  CHECK(lost_receive.rank == 0);
  CHECK(lost_receive.peer == 1);

  editable doubled(made.view());
  doubled.rows[2].insert(doubled.rows[2].begin(), doubled.rows[2][0]);
  CHECK(doubled.play().what == defect::duplicate_message);

  editable early(made.view());
  {
    auto& row = early.rows[0];
    auto const at = find(row, op::send_forward, 1);
    std::swap(row[at], row[at - 1]);
  }
  CHECK(early.play().what == defect::send_before_compute);

  editable late(made.view());
  {
    auto& row = late.rows[2];
    auto const receive = find(row, op::receive_forward, 3);
    action const cell = row[receive];
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(receive));
    row.insert(row.begin() + static_cast<std::ptrdiff_t>(find(row, op::forward, 3)) + 1, cell);
  }
  CHECK(late.play().what == defect::receive_after_use);

  editable exchanged(made.view());
  std::swap(exchanged.rows[1][0], exchanged.rows[1][1]);
  auto const order = exchanged.play();
  CHECK(order.what == defect::order_mismatch);
  CHECK(order.rank == 1);
  CHECK(order.peer == 0);

  editable ordinal(made.view());
  ordinal.rows[1][0].group = 1;
  CHECK(ordinal.play().what == defect::out_of_range);
}

TEST_CASE("play: a slot taken before its last reader has run") {
  auto const made = make_program("1f1b", 2, 4);
  for (auto const& [rank, what] :
       {std::pair{0, op::forward}, std::pair{1, op::receive_forward}, std::pair{0, op::receive_backward}}) {
    editable edited(made.view());
    for (action& cell : edited.rows[static_cast<std::size_t>(rank)])
      if (cell.what == what && cell.slot == 1) cell.slot = 0;
    auto const found = edited.play();
    CHECK(found.what == defect::slot_in_use);
    CHECK(found.value == 0);
  }
  editable beyond(made.view());
  for (action& cell : beyond.rows[0])
    if (cell.what == op::forward && cell.slot == 1) cell.slot = 7;
  CHECK(beyond.play().what == defect::slot_out_of_range);
  // Two forwards into one output buffer before the first has been posted.
  editable output(made.view());
  auto& row = output.rows[0];
  std::size_t first = 0;
  while (row[first].what != op::send_forward) ++first;
  std::swap(row[first], row[first + 1]);
  for (action& cell : row)
    if (cell.what == op::send_forward) cell.slot = 0;
  CHECK(output.play().what == defect::slot_in_use);
}

TEST_CASE("play: a deadlock names the culprit, not the first victim") {
  // Rank 2 wants its backward before the forward that everyone else waits for.
  auto const found = played("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2B0,2F0,2F1,2B1\n");
  CHECK(found.what == defect::backward_before_forward);
  auto const stuck = played("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n3F0,3F1,3B1,3B0\n");
  CHECK(stuck.playable());
  auto const circle = played("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n3F0,3F1,3B0,3B1\n");
  CHECK(circle.what == defect::deadlock);
  CHECK(circle.rank == 2);
  CHECK(circle.position == 1);
  CHECK(circle.peer == 3);
  CHECK(circle.owed == op::forward);
  CHECK(circle.owed_micro_batch == 1);
  CHECK(
      explain(circle) ==
      "deadlock: rank 2 stands at action 1 (2B0), but rank 3 waits for its 2F1, which comes later in its row (2 ranks "
      "wait in a circle); move it forward");
}

TEST_CASE("play: send models differ where they must") {
  // Both ranks send before they receive: fine with posts, a deadlock where posts block.
  auto const made = make_program("1f1b", 2, 4);
  CHECK(play(made.view(), send_model::buffered).playable());
  CHECK(play(made.view(), send_model::rendezvous).playable());
  auto const blocking = play(made.view(), send_model::blocking);
  CHECK(blocking.what == defect::deadlock);
  CHECK(blocking.model == send_model::blocking);
  // Receives posted long before they can be matched hold up a queue.
  CHECK(play(made.view(), send_model::in_issue_order).what == defect::deadlock);

  // One slot and a receiver that posts its receives late: rendezvous needs what buffered does not.
  auto const gpipe_table = write_table<gpipe>(2, 3);
  auto lowered = lower_once(gpipe_table.view(), {.send_slots = 1});
  CHECK(play(lowered.view()).playable());
  editable late(lowered.view());
  auto& receiver = late.rows[1];
  std::vector<action> receives;
  while (receiver.front().what == op::receive_forward) {
    receives.push_back(receiver.front());
    receiver.erase(receiver.begin());
  }
  for (std::size_t index = receives.size(); index-- > 0;) {
    std::size_t at = 0;
    while (receiver[at].what != op::forward || receiver[at].micro_batch != receives[index].micro_batch) ++at;
    receiver.insert(receiver.begin() + static_cast<std::ptrdiff_t>(at), receives[index]);
  }
  CHECK(late.play(send_model::buffered).playable());
  CHECK(late.play(send_model::rendezvous).playable());
}

TEST_CASE("play: a published lowered table with a split backward plays under every model but the blocking ones") {
  auto const table = read_csv(published::v_with_posts);
  for (auto const model : {send_model::buffered, send_model::rendezvous, send_model::in_issue_order}) {
    auto const found = play(table.view(), model);
    CHECK(explain(found) == "");
    CHECK(found.pair_order_matches);
    CHECK(found.peak_activations == 4);
  }
}

TEST_CASE("play: the order in which gradients accumulate") {
  CHECK(played("0F0,0F1,0B0,0B1\n").order == accumulation::ascending);
  CHECK(played("0F0,0F1,0B1,0B0\n").order == accumulation::descending);
  CHECK(played("0F0,0F1,0F2,0B1,0B0,0B2\n").order == accumulation::mixed);
}

TEST_CASE("play: rotten programs never crash it, and what it lets pass does end") {
  std::mt19937 random(20261130);
  int passed = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    int const ranks = 2 + static_cast<int>(random() % 3);
    int const micro_batches = 1 + static_cast<int>(random() % 5);
    auto const made = make_program(random() % 2 == 0 ? "1f1b" : "gpipe", ranks, micro_batches);
    editable edited(made.view());
    int const edits = 1 + static_cast<int>(random() % 2);
    for (int edit = 0; edit < edits; ++edit) {
      auto& row = edited.rows[random() % edited.rows.size()];
      std::size_t const at = random() % row.size();
      switch (random() % 6) {
        case 0: std::swap(row[at], row[random() % row.size()]); break;
        case 1: row.erase(row.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 2: row.insert(row.begin() + static_cast<std::ptrdiff_t>(at), row[random() % row.size()]); break;
        case 3: row[at].slot = static_cast<std::uint16_t>(random() % 4); break;
        case 4: row[at].micro_batch = static_cast<std::uint32_t>(random() % 7); break;
        default:
          if (at + 1 < row.size()) std::swap(row[at], row[at + 1]);
          break;
      }
    }
    auto const found = edited.play();
    if (found.playable()) {
      ++passed;
      CHECK(ends_by_hand(edited.view()));
    } else {
      ++refused;
      CHECK(!explain(found).empty());
      if (found.what == defect::deadlock) CHECK(!ends_by_hand(edited.view()));
    }
  }
  CHECK(passed > 100);
  CHECK(refused > 1000);
}
