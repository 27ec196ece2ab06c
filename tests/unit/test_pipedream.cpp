// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PipeDream and PipeDream-2BW: orders, versions and memory against what others published, and against the recurrences
// that define them.

#include "published_tables.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/oldest_read.hpp>
#include <weft/schedule/pipedream.hpp>
#include <weft/schedule/pipedream_2bw.hpp>
#include <weft/schedule/pipedream_replicated.hpp>
#include <weft/schedule/play.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace weft::schedule;

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// "F3@2 B0@1 STEP"
std::string text_of(row_view row) {
  std::string text;
  for (action const& cell : row) {
    text += (text.empty() ? "" : " ") + std::string(traits_of(cell.what).letters);
    if (cell.what != op::step) text += std::to_string(cell.micro_batch) + "@" + std::to_string(cell.version);
  }
  return text;
}

struct published_size {
  std::string file;
  int ranks;
  int micro_batches;
};

/// What a published file says: rows as `text_of` writes them, and behind every action how many versions are kept.
struct published_rows {
  std::vector<std::string> rows;
  std::vector<std::vector<int>> kept;
};

published_rows read_published(std::string const& file) {
  published_rows result;
  auto const lines = published::split(published::read_file(published::folder() + "/pipedream/" + file + ".csv"), '\n');
  auto const names = published::split(lines.front(), ',');
  auto const column = [&](std::string const& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  std::size_t const number = std::min(column("minibatch"), column("microbatch_in_stream"));
  for (std::size_t line = 1; line < lines.size(); ++line) {
    auto const fields = published::split(lines[line], ',');
    auto const rank = static_cast<std::size_t>(std::stoi(fields.at(column("rank"))));
    if (result.rows.size() <= rank) {
      result.rows.resize(rank + 1);
      result.kept.resize(rank + 1);
    }
    std::string const letters = fields.at(column("action"));
    result.rows[rank] += result.rows[rank].empty() ? "" : " ";
    result.rows[rank] +=
        letters == "STEP" ? letters : letters + fields.at(number) + "@" + fields.at(column("weight_version"));
    if (column("distinct_versions_live") < fields.size())
      result.kept[rank].push_back(std::stoi(fields[column("distinct_versions_live")]));
  }
  return result;
}

/// Versions in a stage's ring behind every action: it fills, and then the oldest makes room for the newest.
std::vector<int> versions_kept(row_view row, int most) {
  std::vector<int> result;
  int steps = 0;
  for (action const& cell : row) {
    if (cell.what == op::step) ++steps;
    result.push_back(std::min(most, steps + 1));
  }
  return result;
}

/// Holds every version of a table against its recurrence, and its figures against the policy's formulas.
/// `forward(stage, step)` and `backward(stage, step)`: versions that a step reads in a run that has no windows.
template <class Policy, class Forward, class Backward>
void versions_of(Policy const& policy, int ranks, int steps, int per_step, int run_steps, Forward const& forward,
                 Backward const& backward) {
  CAPTURE(ranks);
  CAPTURE(steps);
  CAPTURE(per_step);
  CAPTURE(run_steps);
  int const micro_batches = steps * per_step;
  auto const table = write_table(ranks, micro_batches, policy);
  std::vector<rank_figures> figures(at(ranks));
  auto const found = play(table.view(), send_model::rendezvous, figures.data());
  REQUIRE(explain(found) == "");
  int const first = run_steps - policy.steps_before;  // the run's number of version 0
  REQUIRE(first >= 0);
  for (int rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    int made = 0;
    int oldest = 0;
    bool right = true;
    for (action const& cell : table.view().row(rank)) {
      if (cell.what == op::step) {
        ++made;
        continue;
      }
      int const step = run_steps + static_cast<int>(cell.micro_batch) / per_step;
      int const version = first + cell.version;
      right = right && version == (cell.what == op::forward ? forward(rank, step) : backward(rank, step));
      oldest = std::max(oldest, run_steps + made - version);
    }
    CHECK(right);
    CHECK(made == steps);
    CHECK(oldest == oldest_read(table.view(), rank));
    CHECK(oldest <= policy.oldest_read(ranks));
    // A ring of that many versions holds whatever is read, in every window, and the checker counts no more.
    CHECK(oldest < policy.weight_versions(rank, ranks));
    CHECK(figures[at(rank)].peak_versions <= policy.weight_versions(rank, ranks));
    CHECK(figures[at(rank)].peak_activations == policy.peak_activations(rank, ranks, micro_batches));
  }
  cost_model const model{.every = {1.0, 1.0, 1.0}};
  CHECK(cost(table.view(), model).idle_most == policy.idle(ranks, micro_batches, 1.0, 2.0));
  auto const lowered = make_program(ranks, micro_batches, {}, policy);
  CHECK(explain(play(lowered.view())) == "");
  CHECK(cost(lowered.view(), model).makespan == cost(table.view(), model).makespan);
}

template <class Reading, class Forward, class Backward>
void every_window(Forward const& forward, Backward const& backward) {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int steps : {1, 2, 3, 5, 8, 16, 23})
      for (int run_steps : {0, 1, 2, 3, 6, 7, 8, 100}) {
        pipedream_values<Reading> const policy{std::min(run_steps, ranks - 1)};
        auto const on = [&](auto const& version) {
          return [&, ranks](int stage, int step) { return version(stage, ranks, step); };
        };
        versions_of(policy, ranks, steps, 1, run_steps, on(forward), on(backward));
      }
}

auto const own_age = [](int stage, int ranks, int step) { return std::max(0, step - (ranks - 1 - stage)); };

}  // namespace

TEST_CASE("pipedream: published orders, versions and versions kept") {
  if (published::folder().empty()) return;
  for (auto const& [file, ranks, minibatches] :
       {published_size{"pipedream_async_p2_n4", 2, 4}, {"pipedream_async_p4_n8", 4, 8}}) {
    CAPTURE(file);
    auto const known = read_published(file);
    auto const table = write_table<pipedream<>>(ranks, minibatches);
    REQUIRE(static_cast<int>(known.rows.size()) == ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(text_of(table.view().row(rank)) == known.rows[at(rank)]);
      int const most = pipedream<>::weight_versions(rank, ranks);
      CHECK(versions_kept(table.view().row(rank), most) == known.kept[at(rank)]);
    }
  }
  for (auto const& [file, ranks, per_step] :
       {published_size{"pipedream_2bw_p2_m2_it3", 2, 2}, {"pipedream_2bw_p4_m8_it3", 4, 8}}) {
    CAPTURE(file);
    auto const known = read_published(file);
    auto const table = write_table<pipedream_2bw<3>>(ranks, 3 * per_step);
    REQUIRE(static_cast<int>(known.rows.size()) == ranks);
    for (int rank = 0; rank < ranks; ++rank) CHECK(text_of(table.view().row(rank)) == known.rows[at(rank)]);
  }
}

TEST_CASE("pipedream: with stashing, a step's gradient is taken of weights as old as there are ranks behind") {
  every_window<weight_stash>(own_age, own_age);
}

TEST_CASE("pipedream: with vertical sync, a minibatch reads one version on all stages") {
  auto const first = [](int /*stage*/, int ranks, int step) { return std::max(0, step - (ranks - 1)); };
  every_window<vertical_sync>(first, first);
}

TEST_CASE("pipedream: without stashing, backward reads the newest weights") {
  every_window<no_stash>(own_age, [](int /*stage*/, int /*ranks*/, int step) { return step; });
}

TEST_CASE("pipedream-2bw: all micro-batches of a step read the weights of the step before") {
  auto const before = [](int /*stage*/, int step) { return std::max(0, step - 1); };
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int per_step : {ranks - 1, ranks, ranks + 3, 2 * ranks})
      for (int steps : {1, 2, 3, 7})
        for (int run_steps : {0, 1, 2, 50}) {
          if (per_step < 1) continue;
          pipedream_2bw_values const policy{steps, std::min(run_steps, 1)};
          versions_of(policy, ranks, steps, per_step, run_steps, before, before);
        }
}

TEST_CASE("pipedream: as many versions as the formula says, from as many minibatches on as fill the pipeline twice") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    auto const peaks = [&](program const& table) {
      std::vector<rank_figures> figures(at(ranks));
      play(table.view(), send_model::rendezvous, figures.data());
      std::vector<int> result;
      for (auto const& each : figures) result.push_back(each.peak_versions);
      return result;
    };
    std::vector<int> stash;
    for (int rank = 0; rank < ranks; ++rank) stash.push_back(pipedream<>::weight_versions(rank, ranks));
    CHECK(peaks(write_table<pipedream<>>(ranks, 2 * ranks)) == stash);
    CHECK(peaks(write_table<pipedream<vertical_sync>>(ranks, 2 * ranks)) == std::vector<int>(at(ranks), ranks));
    CHECK(peaks(write_table<pipedream<no_stash>>(ranks, 2 * ranks)) == std::vector<int>(at(ranks), 1));
    CHECK(peaks(write_table<pipedream_2bw<2>>(ranks, 4 * ranks)) == std::vector<int>(at(ranks), 2));
    // In the middle of a run the first forwards read weights older than the table, which are kept until then.
    CHECK(peaks(write_table(ranks, 2 * ranks, pipedream_values<weight_stash>{ranks - 1})) == stash);
    CHECK(peaks(write_table(ranks, 2 * ranks, pipedream_values<no_stash>{ranks - 1})) == stash);
    CHECK(play(write_table<pipedream<>>(ranks, 2 * ranks).view()).staleness == ranks - 1);
  }
}

TEST_CASE("pipedream: versions count on beyond a byte") {
  auto const table = write_table<pipedream<>>(3, 700);
  CHECK(explain(play(table.view())) == "");
  action const last = table.view().row(0)[table.view().row(0).size - 2];
  CHECK(last.what == op::backward);
  CHECK(last.version == ((699 - 2) & 255));
}

TEST_CASE("pipedream: a window that reads weights which it did not find is refused") {
  auto const table = write_table(4, 6, pipedream_values<weight_stash>{3});
  auto view = table.view();
  view.work.steps_before = 2;
  auto const found = play(view);
  CHECK(found.what == defect::wrong_version);
  CHECK(explain(found) ==
        "rank 0, action 3 (0F3): reads version 3 of the weights, and should read 2 or one that is kept; "
        "set its version");
}

TEST_CASE("pipedream: rules say why not") {
  CHECK(pipedream<>::check(4, 0) == validity{rule::needs_a_micro_batch, 0, 1});
  CHECK(pipedream<>::check(300, 4) == validity{rule::versions_fit, 300, 255});
  CHECK(pipedream<weight_stash, 4>::check(4, 8) == validity{rule::steps_before_fit, 4, 3});
  CHECK(pipedream<vertical_sync, -1>::check(4, 8) == validity{rule::steps_before_fit, -1, 0});
  CHECK(pipedream_2bw<3>::check(4, 23) == validity{rule::steps_divide, 23, 24});
  CHECK(pipedream_2bw<3>::check(8, 12) == validity{rule::steps_hold_warm_up, 12, 21});
  CHECK(pipedream_2bw<1>::check(8, 2).legal());
  CHECK(pipedream_2bw<-1>::check(8, 2) == validity{rule::needs_a_step, -1, 1});
  CHECK(pipedream_2bw<2, 2>::check(4, 8) == validity{rule::steps_before_fit, 2, 1});
  CHECK_THROWS_WITH_AS(write_table<pipedream_2bw<3>>(4, 6),
                       "weft::schedule::pipedream-2bw: with more than one optimizer step, each needs as many "
                       "micro_batches as the first rank runs before its first backward; use steps x (ranks - 1) "
                       "micro_batches or more (asked for 6, nearest legal 9)",
                       weft::error);
  CHECK(pipedream_2bw<0>::steps_of(4, 24) == 6);
  CHECK(pipedream_2bw<0>::steps_of(4, 7) == 1);
}

TEST_CASE("pipedream-replicated: published warm-ups and versions of replicated stages") {
  if (published::folder().empty()) return;
  auto const lines =
      published::split(published::read_file(published::folder() + "/pipedream/pipedream_warmup_replicated.csv"), '\n');
  int checked = 0;
  for (std::size_t line = 1; line < lines.size(); ++line) {
    auto const fields = published::split(lines[line], ',');
    if (fields.size() < 4) continue;
    CAPTURE(lines[line]);
    std::vector<int> replicas;
    for (auto const& each : published::split(fields[0], '|')) replicas.push_back(std::stoi(each));
    pipedream_replicated const policy{replicas.data(), static_cast<int>(replicas.size())};
    int first = 0;
    int ranks = 0;
    for (std::size_t stage = 0; stage < replicas.size(); ++stage) {
      if (static_cast<int>(stage) < std::stoi(fields[1])) first += replicas[stage];
      ranks += replicas[stage];
    }
    for (int rank = first; rank < first + replicas[static_cast<std::size_t>(std::stoi(fields[1]))]; ++rank) {
      CHECK(policy.warm_up(rank, ranks) == std::stoi(fields[2]));
      CHECK(policy.weight_versions(rank, ranks) == std::stoi(fields[3]));
    }
    ++checked;
  }
  CHECK(checked > 10);
}

TEST_CASE("pipedream-replicated: minibatches go round, every table is proved, formulas hold") {
  for (auto const& replicas : std::vector<std::vector<int>>{
           {1}, {1, 1, 1, 1}, {2, 1}, {2, 1, 1}, {3, 1}, {2, 2}, {7, 1}, {4, 2, 1, 1}, {1, 2, 4}, {2, 3}, {1, 3, 2}}) {
    pipedream_replicated const policy{replicas.data(), static_cast<int>(replicas.size())};
    int ranks = 0;
    for (int const each : replicas) ranks += each;
    int const routes = policy.copies(ranks);
    for (int const rounds : {1, 2, 3, 8}) {
      int const micro_batches = rounds * routes;
      CAPTURE(ranks);
      CAPTURE(routes);
      CAPTURE(micro_batches);
      auto const table = write_table(ranks, micro_batches, policy);
      std::vector<rank_figures> figures(at(ranks));
      CHECK(explain(play(table.view(), send_model::rendezvous, figures.data())) == "");
      int rank = 0;
      for (int stage = 0; stage < static_cast<int>(replicas.size()); ++stage)
        for (int replica = 0; replica < replicas[at(stage)]; ++replica, ++rank) {
          CAPTURE(rank);
          int own = 0;
          int steps = 0;
          for (action const& cell : table.view().row(rank)) {
            steps += cell.what == op::step;
            if (cell.what == op::step) continue;
            CHECK(cell.stage == stage);
            CHECK(static_cast<int>(cell.micro_batch) % replicas[at(stage)] == replica);
            CHECK(static_cast<int>(cell.copy) == static_cast<int>(cell.micro_batch) % routes);
            own += cell.what == op::forward;
            if (cell.what == op::backward) CHECK(cell.version == std::max(0, steps - policy.warm_up(rank, ranks)));
          }
          CHECK(own == micro_batches / replicas[at(stage)]);
          CHECK(steps == own);
          CHECK(figures[at(rank)].peak_activations == policy.peak_activations(rank, ranks, micro_batches));
          CHECK(figures[at(rank)].peak_versions <= policy.weight_versions(rank, ranks));
          if (own > 2 * policy.warm_up(rank, ranks) + 1)
            CHECK(figures[at(rank)].peak_versions == policy.weight_versions(rank, ranks));
        }
      CHECK(explain(play(lower(table.view(), {.receives = receive_time::at_use}).view(), send_model::in_issue_order)) ==
            "");
      CHECK(explain(play(lower(table.view()).view())) == "");
    }
  }
}

TEST_CASE("pipedream-replicated: rules say why not") {
  int const replicas[] = {2, 1, 1};
  pipedream_replicated const policy{replicas, 3};
  CHECK(policy.check(4, 4).legal());
  CHECK(policy.check(5, 4) == validity{rule::replicas_fill_ranks, 5, 4});
  CHECK(policy.check(4, 3) == validity{rule::micro_batches_multiple, 3, 4});
  int const none[] = {2, 0};
  CHECK(pipedream_replicated{none, 2}.check(2, 4) == validity{rule::needs_a_replica, 0, 1});
  int const primes[] = {5, 7, 8};
  CHECK(pipedream_replicated{primes, 3}.check(20, 280) == validity{rule::too_many_copies, 280, 255});
  CHECK(pipedream_replicated{}.check(4, 5).legal());
}
