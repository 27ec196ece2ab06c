// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "every_schedule.hpp"
#include "schedule_support.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace weft::schedule;
using schedule_support::editable;
using schedule_support::letters;

namespace {

constexpr lower_options validated{.norm = norm_kind::post_validated};

std::string row(program_view const& made, int rank) { return letters(made.row(rank), false); }

std::size_t find(std::vector<action> const& row, op what) {
  auto const found = std::find_if(row.begin(), row.end(), [&](action const& each) { return each.what == what; });
  REQUIRE(found != row.end());
  return static_cast<std::size_t>(found - row.begin());
}

}  // namespace

TEST_CASE("post_validate: rows of 1f1b on two ranks, written out") {
  auto const made = make_program("1f1b", 2, 3, validated);
  CHECK(made.view().work.post_validated);
  CHECK(row(made.view(), 0) ==
        "F0 SEND_F0 F1 SEND_F1 VALIDATE RECV_B0 RECV_B1 B0 RECV_B2 F2 SEND_F2 B1 B2 REDUCE_GRAD PARTIAL_NORM STEP");
  CHECK(row(made.view(), 1) ==
        "RECV_F0 RECV_F1 F0 VALIDATE B0 SEND_B0 RECV_F2 F1 B1 SEND_B1 F2 B2 SEND_B2 REDUCE_GRAD PARTIAL_NORM STEP");
  CHECK(play(made.view()).playable());
  // R reads weights that may be wrong, as B does.
  auto const again = make_program("1f1b", 2, 1, {.recompute = true, .norm = norm_kind::post_validated});
  CHECK(row(again.view(), 1) == "RECV_F0 F0 VALIDATE R0 B0 SEND_B0 REDUCE_GRAD PARTIAL_NORM STEP");
  // Without an optimizer there is nothing to validate.
  auto const bare = make_program("1f1b", 2, 3, {.optimizer = false, .norm = norm_kind::post_validated});
  CHECK_FALSE(bare.view().work.post_validated);
  CHECK(play(bare.view()).playable());
}

TEST_CASE("post_validate: VALIDATE stands before an F that needs one from behind another rank's VALIDATE") {
  // F1 of stage 0 comes behind a backward, so no F1 may be done again.
  auto const table = read_csv("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n2F0,2F1,2B0,2B1\n");
  REQUIRE_FALSE(play(table.view()).playable());  // F1 of stage 2 waits for B0 of stage 0, which waits for it
  auto const right = read_csv("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,3F0,2F1,3F1,3B0,2B0,3B1,2B1\n");
  auto const made = lower(right.view(), validated);
  CHECK(play(made.view()).playable());
  auto const wave = read_csv("0F0,3F0,3B0,0F1,3F1,0B0,3B1,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n");
  REQUIRE(play(wave.view()).playable());
  auto const cut = lower(wave.view(), validated);
  CHECK(play(cut.view()).playable());
  CHECK(row(cut.view(), 0).find("F0 VALIDATE") != std::string::npos);
  // Rank 1 could do F1 of both its stages before its first B; but stage 0 makes F1 behind its own.
  std::string const other = row(cut.view(), 1);
  CHECK(other.find("VALIDATE") < other.find(" F1"));
}

TEST_CASE("post_validate: every schedule plays under rendezvous, with receives posted early or at use") {
  int moved = 0;
  int const cases = every_schedule::for_all(5, 7, [&](auto const& at, program_view const& table) {
    if (table.work.asynchronous) return;
    for (bool const recompute : {false, true}) {
      lower_options options = validated;
      options.recompute = recompute;
      auto const made = lower(table, options);
      verdict const found = play(made.view());
      CHECK_MESSAGE(found.playable(), at.text(), ": ", explain(found));
      CHECK(play(made.view(), send_model::buffered).playable());
      moved += row(made.view(), 0) != row(lower(table, {.recompute = recompute}).view(), 0);
    }
    lower_options queued = validated;
    queued.receives = receive_time::at_use;
    verdict proof;
    auto const made = lower(table, queued, &proof);
    CHECK_MESSAGE(proof.playable(), at.text(), ": ", explain(proof));
  });
  CHECK(cases > 500);
  CHECK(moved > (weft_test::is_sanitized ? 50 : 500));
}

TEST_CASE("post_validate: what play refuses") {
  auto const made = make_program("1f1b", 2, 3, validated);
  auto const broken = [&](auto&& change) {
    editable copy(made.view());
    change(copy.rows);
    return copy.play();
  };
  using rows = std::vector<std::vector<action>>;
  auto const lost =
      broken([](rows& all) { all[1].erase(all[1].begin() + static_cast<std::ptrdiff_t>(find(all[1], op::validate))); });
  CHECK(lost.what == defect::missing_validation);
  CHECK(explain(lost) ==
        "rank 1 has no VALIDATE although its steps are validated afterwards; add one before its first backward");
  auto const twice = broken([](rows& all) { all[0].insert(all[0].begin(), make_action(op::validate, 0, 0)); });
  CHECK(twice.what == defect::duplicate_validation);
  CHECK(explain(twice) == "rank 0, action 5 (VALIDATE): a second VALIDATE on one rank; keep one");
  auto const late = broken([](rows& all) {
    auto const at = find(all[1], op::validate);
    std::swap(all[1][at], all[1][at + 1]);
  });
  CHECK(late.what == defect::validation_too_late);
  CHECK(explain(late) ==
        "rank 1, action 4 (VALIDATE): comes after a backward or a collective, which cannot be undone; move it before");
  auto const early = broken([](rows& all) {
    auto const at = find(all[0], op::validate);
    std::swap(all[0][at], all[0][at + 1]);
  });
  CHECK(early.what == defect::receive_too_early);
  CHECK(
      explain(early) ==
      "rank 0, action 4 (0RECV_B0): is posted before VALIDATE for a message that rank 1 sends behind its own, so that "
      "a redo would take another one for it; post it behind VALIDATE");
  auto const whole = broken([](rows& all) { all[1][find(all[1], op::partial_norm)].what = op::norm; });
  CHECK(whole.what == defect::unexpected_action);
  auto const none = broken(
      [](rows& all) { all[1].erase(all[1].begin() + static_cast<std::ptrdiff_t>(find(all[1], op::partial_norm))); });
  CHECK(none.what == defect::missing_norm);
  CHECK(explain(none) ==
        "rank 1 has no PARTIAL_NORM although the program has PARTIAL_NORM or STEP; all ranks take part, so add one "
        "before its STEPs");
  // In a program of another kind neither belongs.
  auto const of_another_kind = make_program("1f1b", 1, 1);
  editable plain(of_another_kind.view());
  plain.rows[0].insert(plain.rows[0].begin(), make_action(op::validate, 0, 0));
  CHECK(plain.play().what == defect::unexpected_action);
}

TEST_CASE("post_validate: a table with them is read, written, and lowered as the options say") {
  std::string const text = "0F0,VALIDATE,0B0,PARTIAL_NORM,0STEP\n1F0,VALIDATE,1B0,PARTIAL_NORM,1STEP\n";
  auto const read = read_csv(text);
  CHECK(read.view().work.post_validated);
  CHECK(play(read.view()).playable());
  CHECK(write_csv(read.view()) == text);
  CHECK(play(read_csv("0F0,0B0,VALIDATE,PARTIAL_NORM,0STEP\n").view()).what == defect::validation_too_late);
  CHECK_FALSE(lower(read.view()).view().work.post_validated);
  CHECK(lower(read.view(), validated).view().work.post_validated);
  // PARTIAL_NORMs wait for each other in the order of the ranks; what waits the other way around stands still.
  verdict const stuck = play(read_csv("0F0,VALIDATE,0B0,PARTIAL_NORM,0STEP,0REDUCE_GRAD\n1F0,VALIDATE,1B0,"
                                      "1REDUCE_GRAD,PARTIAL_NORM,1STEP\n")
                                 .view());
  CHECK_FALSE(stuck.playable());
}

TEST_CASE("post_validate: ZB-H2's ranks step when they are ready, and the next turn hides the rest") {
  // Equal durations, 4 ranks, 12 micro-batches: each rank is busy for 3 M, and ends when it has begun 3 M before.
  auto const spans = [](norm_kind norm) {
    auto const made = make_program("zb-h2", 4, 12, {.tied = tied_stages::none, .norm = norm});
    auto const timing = make_timeline(made.view(), cost_model{});
    std::vector<double> ends(4, 0.0);
    for (auto const& each : timing.actions)
      if (each.what.what == op::step) ends[static_cast<std::size_t>(each.rank)] = each.end;
    return ends;
  };
  CHECK(spans(norm_kind::synchronous) == std::vector<double>{39.0, 39.0, 39.0, 39.0});
  CHECK(spans(norm_kind::post_validated) == std::vector<double>{36.0, 37.0, 38.0, 39.0});
}
