// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/passes/rewrite.hpp>
#include <weft/schedule/play.hpp>
#include <weft/topology/placement.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// What the checker knows beyond a flushing schedule on one copy of the model: versions of weights, several copies,
// fused pairs, collectives; and which of several defects it reports.

using namespace weft::schedule;
namespace topology = weft::topology;
using schedule_support::editable;

namespace {

struct versioned {
  op what;
  int micro_batch;
  int version;
};

/// Stage r on rank r; STEP stands where the rows have it.
program asynchronous(std::vector<std::vector<versioned>> const& rows, int micro_batches, work_set work) {
  int const ranks = static_cast<int>(rows.size());
  int capacity = 0;
  for (auto const& row : rows) capacity += static_cast<int>(row.size());
  work.asynchronous = true;
  program result("asynchronous", topology::stage_graph::chain(ranks).place(topology::placement::loop{}, ranks),
                 micro_batches, work, capacity);
  for (int rank = 0; rank < ranks; ++rank) {
    for (auto const& each : rows[static_cast<std::size_t>(rank)]) {
      action cell = make_action(each.what, rank, each.micro_batch);
      cell.version = static_cast<std::uint8_t>(each.version);
      result.append(cell);
    }
    result.end_row();
  }
  return result;
}

/// PipeDream on two ranks, four minibatches, written out: backward reads the weights of its forward.
program stashing_table() {
  auto const F = op::forward;
  auto const B = op::backward;
  auto const S = op::step;
  return asynchronous({{{F, 0, 0},
                        {F, 1, 0},
                        {B, 0, 0},
                        {S, 0, 0},
                        {F, 2, 1},
                        {B, 1, 0},
                        {S, 0, 0},
                        {F, 3, 2},
                        {B, 2, 1},
                        {S, 0, 0},
                        {B, 3, 2},
                        {S, 0, 0}},
                       {{F, 0, 0},
                        {B, 0, 0},
                        {S, 0, 0},
                        {F, 1, 1},
                        {B, 1, 1},
                        {S, 0, 0},
                        {F, 2, 2},
                        {B, 2, 2},
                        {S, 0, 0},
                        {F, 3, 3},
                        {B, 3, 3},
                        {S, 0, 0}}},
                      4, {});
}

verdict played(char const* text) { return play(read_csv(text).view()); }

}  // namespace

TEST_CASE("checker: versions of weights, how many are kept and how stale gradients become") {
  auto const made = stashing_table();
  std::vector<rank_figures> ranks(2);
  auto const found = play(made.view(), send_model::rendezvous, ranks.data());
  CHECK(explain(found) == "");
  CHECK(found.peak_versions == 2);
  CHECK(found.staleness == 1);
  CHECK(ranks[0].peak_versions == 2);
  CHECK(ranks[1].peak_versions == 1);
  // Lowered, with posts and slots, it keeps its versions and its STEPs, and gets no NORM.
  auto const lowered = make_program(made.view());
  CHECK(schedule_support::letters(lowered.view().row(1), false) ==
        "RECV_F0 RECV_F1 F0 B0 SEND_B0 RECV_F2 STEP F1 B1 SEND_B1 RECV_F3 STEP F2 B2 SEND_B2 STEP F3 B3 SEND_B3 STEP");
  CHECK(play(lowered.view()).peak_versions == 2);
}

TEST_CASE("checker: every version that is off by one is refused") {
  auto const made = stashing_table();
  int refused = 0;
  for (int rank = 0; rank < 2; ++rank)
    for (int at = 0; at < made.view().row(rank).size; ++at)
      for (int by : {-1, 1}) {
        editable edited(made.view());
        action& cell = edited.rows[static_cast<std::size_t>(rank)][static_cast<std::size_t>(at)];
        if (cell.what == op::step) continue;
        cell.version = static_cast<std::uint8_t>(cell.version + by);
        auto const found = edited.play();
        CAPTURE(rank);
        CAPTURE(at);
        CAPTURE(by);
        CHECK(found.what == defect::wrong_version);
        CHECK(explain(found).find("of the weights") != std::string::npos);
        ++refused;
      }
  CHECK(refused == 32);
  auto const table = make_table("1f1b", 2, 4);
  editable flushing(table.view());
  flushing.rows[1][2].version = 1;
  CHECK(flushing.play().what == defect::wrong_version);
}

TEST_CASE("checker: without stashing backward reads the newest weights") {
  auto const F = op::forward;
  auto const B = op::backward;
  auto const S = op::step;
  work_set work;
  work.stashes_weights = false;
  std::vector<std::vector<versioned>> rows{{{F, 0, 0}, {F, 1, 0}, {B, 0, 0}, {S, 0, 0}, {B, 1, 1}, {S, 0, 0}}};
  auto const found = play(asynchronous(rows, 2, work).view());
  CHECK(explain(found) == "");
  CHECK(found.peak_versions == 1);
  CHECK(found.staleness == 1);
  CHECK(play(asynchronous(rows, 2, {}).view()).what == defect::wrong_version);
}

TEST_CASE("checker: an asynchronous STEP needs a new gradient, and every gradient a STEP") {
  auto const made = stashing_table();
  editable edited(made.view());
  auto& row = edited.rows[0];
  action const step = row[3];
  row.erase(row.begin() + 3);
  CHECK(edited.play().what == defect::wrong_version);  // what follows counts on it
  row.insert(row.begin() + 2, step);
  CHECK(edited.play().what == defect::empty_step);  // before the first gradient
  editable late(made.view());
  late.rows[1].pop_back();
  auto const found = late.play();
  CHECK(found.what == defect::missing_step);
  CHECK(explain(found) == "stage 1 has gradients that no STEP uses; add STEP on rank 1 after them");
  editable empty(made.view());
  empty.rows[1].push_back(empty.rows[1].back());
  CHECK(empty.play().what == defect::empty_step);
}

TEST_CASE("checker: published asynchronous tables, with as many versions as they say") {
  std::string const folder = published::folder();
  if (folder.empty()) return;
  for (std::string const file :
       {"pipedream_async_p2_n4", "pipedream_async_p4_n8", "pipedream_2bw_p2_m2_it3", "pipedream_2bw_p4_m8_it3"}) {
    CAPTURE(file);
    auto const lines = published::split(published::read_file(folder + "/pipedream/" + file + ".csv"), '\n');
    auto const names = published::split(lines.front(), ',');
    auto const column = [&](char const* name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    bool const double_buffered = file.find("2bw") != std::string::npos;
    std::vector<std::vector<versioned>> rows;
    std::vector<int> kept;
    int micro_batches = 0;
    for (std::size_t line = 1; line < lines.size(); ++line) {
      auto const fields = published::split(lines[line], ',');
      auto const number = [&](char const* name) { return std::stoi(fields.at(column(name))); };
      auto const rank = static_cast<std::size_t>(number("rank"));
      if (rows.size() <= rank) {
        rows.resize(rank + 1);
        kept.resize(rank + 1);
      }
      std::string const letters = fields.at(column("action"));
      int const micro_batch = number(double_buffered ? "microbatch_in_stream" : "minibatch");
      if (letters == "STEP") {
        // Its version is the one that it makes.
        int steps = 1;
        for (auto const& each : rows[rank]) steps += each.what == op::step;
        CHECK(number("weight_version") == steps);
        rows[rank].push_back({op::step, 0, 0});
      } else {
        rows[rank].push_back({letters == "F" ? op::forward : op::backward, micro_batch, number("weight_version")});
        micro_batches = std::max(micro_batches, micro_batch + 1);
      }
      if (!double_buffered) kept[rank] = std::max(kept[rank], number("distinct_versions_live"));
    }
    work_set work;
    work.versions = double_buffered ? 2 : 1;
    auto const made = asynchronous(rows, micro_batches, work);
    std::vector<rank_figures> figures(rows.size());
    auto const found = play(made.view(), send_model::rendezvous, figures.data());
    CHECK(explain(found) == "");
    CHECK(found.staleness == (double_buffered ? 1 : static_cast<int>(rows.size()) - 1));
    for (std::size_t rank = 0; rank < rows.size(); ++rank)
      CHECK(figures[rank].peak_versions == (double_buffered ? 2 : kept[rank]));
    CHECK(make_program(made.view()).view().is_lowered);
  }
}

TEST_CASE("checker: several copies of the model share the micro-batches") {
  for (char const* name : {"dualpipe", "chimera"}) {
    CAPTURE(name);
    auto const made = make_table(name, 4, 8);
    CHECK(explain(play(made.view())) == "");
    // A pass of one copy turned into one of the other: the stage is on the wrong rank, or done twice.
    editable edited(made.view());
    for (action& cell : edited.rows[0])
      if (cell.what == op::forward && cell.copy == 0) {
        cell.copy = 1;
        break;
      }
    CHECK_FALSE(edited.play().playable());
    // The whole of a micro-batch once more, on the other copy.
    editable twice(made.view());
    for (auto& row : twice.rows) row.clear();
    for (int rank = 0; rank < 4; ++rank) {
      auto const& row = made.view().row(rank);
      auto& into = twice.rows[static_cast<std::size_t>(rank)];
      into.assign(row.begin(), row.end());
      for (action const& cell : made.view().row(3 - rank))
        if (cell.copy == 0 && cell.micro_batch == 0) {
          action other = cell;
          other.copy = 1;
          other.part = parts::whole;
          into.push_back(other);
        }
    }
    auto const found = twice.play();
    CHECK(found.what == defect::two_copies);
    CHECK(explain(found).find("is done on two copies of the model") != std::string::npos);
  }
}

TEST_CASE("checker: copies of the model are reduced once each, in one order on both ranks") {
  auto const table = make_table("chimera", 4, 4);
  auto const made = lower(table.view(), {.reduce_over_copies = true});
  CHECK(explain(play(made.view())) == "");
  CHECK(made.view().work.reduces_over_copies);
  auto const is_reduction = [](action const& cell) {
    return cell.what == op::reduce_gradient && cell.group == static_cast<int>(reduction::copies);
  };
  editable lost(made.view());
  lost.rows[1].erase(std::find_if(lost.rows[1].begin(), lost.rows[1].end(), is_reduction));
  CHECK(lost.play().what == defect::missing_reduction);
  CHECK(explain(lost.play()).find("among the copies of the model") != std::string::npos);
  // Both behind the last backward, so that either order could stand; the other rank has the first one.
  editable swapped(made.view());
  for (auto& row : swapped.rows) {
    std::vector<action> reductions;
    for (std::size_t at = row.size(); at-- > 0;)
      if (is_reduction(row[at])) {
        reductions.push_back(row[at]);
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
      }
    std::sort(reductions.begin(), reductions.end(), [](auto const& a, auto const& b) { return a.stage < b.stage; });
    auto const norm = std::find_if(row.begin(), row.end(), [](auto const& cell) { return cell.what == op::norm; });
    auto const tied =
        std::find_if(row.begin(), norm, [](auto const& cell) { return cell.what == op::reduce_gradient; });
    row.insert(tied, reductions.begin(), reductions.end());
  }
  CHECK(explain(swapped.play()) == "");
  auto const first = std::find_if(swapped.rows[0].begin(), swapped.rows[0].end(), is_reduction);
  std::swap(*first, *(first + 1));
  auto const found = swapped.play();
  CHECK(found.what == defect::collective_order);
  CHECK(found.peer == 3);
  CHECK(explain(found).find("give both ranks the same collectives in one order") != std::string::npos);
}

TEST_CASE("checker: a fused pair is F and its B or I, side by side") {
  auto const made = make_table("dualpipe-v", 4, 10);
  auto const at_of = [&](int rank) {
    int at = 0;
    while (made.view().row(rank)[at].part != parts::fused_forward) ++at;
    return static_cast<std::size_t>(at);
  };
  std::size_t const at = at_of(1);
  CHECK(made.view().row(1)[static_cast<int>(at) + 1].part == parts::fused_backward);
  editable alone(made.view());
  alone.rows[1][at + 1].part = parts::whole;
  CHECK(alone.play().what == defect::torn_pair);
  editable turned(made.view());
  std::swap(turned.rows[1][at], turned.rows[1][at + 1]);
  CHECK(turned.play().what == defect::torn_pair);
  editable parted(made.view());
  std::swap(parted.rows[1][at + 1], parted.rows[1][at + 2]);
  CHECK(parted.play().what == defect::torn_pair);
  auto const pair = make_table("1f1b", 1, 1);
  editable last(pair.view());
  last.rows[0][0].part = parts::fused_forward;
  CHECK(last.play().what == defect::torn_pair);
}

TEST_CASE("checker: collectives are checked against the messages") {
  // Rank 1 enters the collective that all take part in before it has sent what rank 0 still waits for.
  auto const made = make_program("1f1b", 2, 2);
  editable edited(made.view());
  auto& row = edited.rows[1];
  auto const tied =
      std::find_if(row.begin(), row.end(), [](auto const& cell) { return cell.what == op::reduce_gradient; });
  auto const send = std::find_if(
      row.begin(), row.end(), [](auto const& cell) { return cell.what == op::send_backward && cell.micro_batch == 1; });
  std::rotate(send, send + 1, tied + 1);  // the last send goes behind the REDUCE_GRAD of tied parameters
  auto const found = edited.play();
  CHECK(found.what == defect::deadlock);
  CHECK(found.rank == 1);
  CHECK(found.action == op::reduce_gradient);
  CHECK(found.owed == op::send_backward);
  CHECK(found.owed_micro_batch == 1);
  for (auto const model : {send_model::buffered, send_model::blocking, send_model::in_issue_order})
    CHECK(edited.play(model).what == defect::deadlock);
}

TEST_CASE("checker: what a program needs at its end is complete") {
  auto const made = make_program("1f1b", 3, 4);
  auto const without = [&](int rank, op what) {
    editable edited(made.view());
    auto& row = edited.rows[static_cast<std::size_t>(rank)];
    row.erase(std::find_if(row.begin(), row.end(), [&](auto const& cell) { return cell.what == what; }));
    return edited.play();
  };
  CHECK(without(1, op::step).what == defect::missing_step);
  CHECK(without(1, op::norm).what == defect::missing_norm);
  auto const untied = without(2, op::reduce_gradient);
  CHECK(untied.what == defect::missing_reduction);
  CHECK(explain(untied).find("tied parameters") != std::string::npos);
  editable twice(made.view());
  twice.rows[1].push_back(twice.rows[1].back());
  CHECK(twice.play().what == defect::duplicate_step);
}

TEST_CASE("checker: of several defects the first in the list is reported, whatever the order of rows") {
  // In one table: a duplicate forward (rank 0), a missing backward (rank 1), a stage on the wrong rank (rank 2).
  CHECK(played("0F0,0F0,0B0\n1F0\n2F0,2B0\n").what == defect::duplicate_forward);
  auto const table = read_csv("0F0,0F0,0B0\n1F0\n2F0,2B0\n");
  editable edited(table.view());
  edited.rows[2].push_back(make_action(op::forward, 1, 0));
  CHECK(edited.play().what == defect::wrong_rank);
  edited.rows[2].push_back(make_action(op::forward, 7, 0));
  CHECK(edited.play().what == defect::out_of_range);
  // Of one kind, the first in row order.
  auto const twice = played("0F0,0B0\n1F0,1F0,1B0\n2F0,2F0,2B0\n");
  CHECK(twice.what == defect::duplicate_forward);
  CHECK(twice.rank == 1);
  CHECK(twice.position == 1);
}

TEST_CASE("checker: tables of released programs that are no schedules are refused, with the reason") {
  std::string const folder = published::folder();
  if (folder.empty()) return;
  auto const problem = [&](char const* file) {
    return explain(parse_csv(published::read_file(folder + "/invalid/" + file)).problem);
  };
  CHECK(problem("primus_1f1b_p4_v1_m2.csv").find("cell \"0B-1\": micro-batch -1 is below 0") != std::string::npos);
  CHECK(problem("primus_1f1b-interleaved_p4_v2_m4.csv").find("cell \"4B-2\": micro-batch -2 is below 0") !=
        std::string::npos);
  // With what is below 0 taken away, what is beyond the last one is left.
  std::string text = published::read_file(folder + "/invalid/primus_1f1b-interleaved_p4_v2_m4.csv");
  for (char const* cell : {"4B-2,", "4B-1,"}) text.erase(text.find(cell), std::string(cell).size());
  auto const found = parse_csv(text, {.micro_batches = 4});
  bool const refused = !found.problem.ok() || play(found.table.view()).what == defect::out_of_range;
  CHECK(refused);
  // And without a count to hold it to, the passes that nobody completes.
  CHECK(play(read_csv(text).view()).what == defect::missing_forward);
}
