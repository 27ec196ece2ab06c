// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/detail/best_order.hpp>
#include <weft/topology/placement.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

using namespace weft::schedule;
using namespace weft::schedule::detail;
namespace placement = weft::topology::placement;

namespace {

template <class Placement>
order_problem problem_of(int ranks, int chunks, int micro_batches, bool splits, cost_model const& model) {
  auto const graph = weft::topology::stage_graph::chain(chunks * ranks).place(Placement{}, ranks);
  return make_order_problem(graph.view(), micro_batches, splits, model);
}

/// The shortest makespan of all orders there are, each played: every row that has F before I before W of a micro-batch
/// and micro-batches in ascending order, on every rank, with every other.
double by_brute_force(order_problem const& problem) {
  std::vector<std::vector<std::vector<order_step>>> choices(static_cast<std::size_t>(problem.ranks));
  for (int rank = 0; rank < problem.ranks; ++rank) {
    std::vector<int> done(static_cast<std::size_t>(3 * problem.stages), 0);
    std::vector<order_step> row;
    int const kinds = problem.passes();
    std::function<void(double)> const extend = [&](double held) {
      bool complete = true;
      for (int stage = 0; stage < problem.stages; ++stage) {
        if (problem.rank_of[stage] != rank) continue;
        for (int kind = 0; kind < kinds; ++kind) {
          auto const at = static_cast<std::size_t>(3 * stage + kind);
          if (done[at] == problem.micro_batches) continue;
          complete = false;
          if (kind > 0 && done[at] == done[at - 1]) continue;
          op const what = kind == 0        ? op::forward
                          : kind == 2      ? op::backward_weight
                          : problem.splits ? op::backward_input
                                           : op::backward;
          double const now = held + problem.held_by(what);
          if (now > problem.limit + 1e-9) continue;
          ++done[at];
          row.push_back({what, stage});
          extend(now);
          row.pop_back();
          --done[at];
        }
      }
      if (complete) choices[static_cast<std::size_t>(rank)].push_back(row);
    };
    extend(0.0);
  }
  double best = 1e300;
  order_rows rows(problem);
  order_clock clock(problem);
  std::function<void(int)> const choose = [&](int rank) {
    if (rank == problem.ranks) {
      best = std::min(best, clock.run(rows).makespan);
      return;
    }
    for (auto const& row : choices[static_cast<std::size_t>(rank)]) {
      rows.size[rank] = 0;
      for (auto const& step : row) rows.put(rank, step.what, step.stage);
      choose(rank + 1);
    }
  };
  choose(0);
  return best;
}

double by_branch_and_bound(order_problem const& problem) {
  exact_order exact(problem, 1e300, 50'000'000);
  CHECK(exact.run());
  CHECK(exact.improved());
  CHECK(order_clock(problem).run(exact.rows()).makespan == doctest::Approx(exact.makespan()));
  return exact.makespan();
}

}  // namespace

TEST_CASE("order search: branch and bound finds what brute force finds") {
  std::mt19937 random(7);
  auto const draw = [&random] { return 0.25 * static_cast<double>(1 + random() % 12); };
  struct size {
    int ranks, micro_batches;
    bool splits;
  };
  for (auto const& [ranks, micro_batches, splits] :
       {size{1, 3, true}, {2, 2, true}, {2, 3, true}, {3, 2, true}, {4, 2, true}, {2, 4, false}, {3, 3, false}})
    for (int repetition = 0; repetition < 6; ++repetition) {
      std::vector<stage_cost> stages(static_cast<std::size_t>(ranks));
      for (auto& each : stages) each = {draw(), draw(), repetition % 3 == 2 ? 0.0 : draw()};
      std::vector<link_cost> links(static_cast<std::size_t>(ranks));
      for (auto& each : links) each.latency = repetition % 2 == 0 ? 0.0 : draw();
      cost_model model{.stages = stages.data(), .links = links.data()};
      if (repetition == 0) model.stages = nullptr;
      for (double limit : {1e300, 1.0, 2.0}) {
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        CAPTURE(limit);
        auto problem = problem_of<placement::loop>(ranks, 1, micro_batches, splits, model);
        problem.limit = limit;
        problem.after_input = repetition % 2 == 0 ? 1.0 : 0.5;
        double const optimum = by_brute_force(problem);
        CHECK(by_branch_and_bound(problem) == doctest::Approx(optimum));
        CHECK(order_bound(problem).makespan <= optimum + 1e-9);
        auto const found = find_best_order(problem, thorough);
        CHECK(found.is_proved);
        CHECK(found.score.makespan == doctest::Approx(optimum));
      }
    }
}

TEST_CASE("order search: several stages on a rank, in a loop and in a V") {
  std::mt19937 random(11);
  auto const draw = [&random] { return 0.5 * static_cast<double>(1 + random() % 5); };
  for (int repetition = 0; repetition < 4; ++repetition) {
    std::vector<stage_cost> stages(4);
    for (auto& each : stages) each = {draw(), draw(), draw()};
    cost_model const model{.stages = stages.data(), .hop = 0.5 * repetition};
    for (auto const& problem :
         {problem_of<placement::loop>(2, 2, 1, true, model), problem_of<placement::v>(2, 2, 1, true, model),
          problem_of<placement::v>(2, 2, 2, false, model), problem_of<placement::loop>(2, 2, 2, false, model)}) {
      double const optimum = by_brute_force(problem);
      CHECK(by_branch_and_bound(problem) == doctest::Approx(optimum));
      CHECK(find_best_order(problem, thorough).score.makespan == doctest::Approx(optimum));
    }
  }
}

TEST_CASE("order search: rules and moves give orders that keep to the limit, on every placement") {
  for (int ranks : {1, 2, 3, 4})
    for (int chunks : {1, 2, 3})
      for (int micro_batches : {1, 2, 5, 9})
        for (double limit : {1.0 * chunks, 2.0 * chunks + 1.0, 1e300})
          for (bool const splits : {true, false}) {
            cost_model const model{.every = {2.0, 3.0, 1.0}, .hop = 0.75};
            auto problem = chunks % 2 == 0 ? problem_of<placement::v>(ranks, chunks, micro_batches, splits, model)
                                           : problem_of<placement::loop>(ranks, chunks, micro_batches, splits, model);
            problem.limit = limit;
            auto const found = find_best_order(problem, quick);
            CAPTURE(ranks);
            CAPTURE(chunks);
            CAPTURE(micro_batches);
            CAPTURE(limit);
            REQUIRE(found.score.found());
            auto const again = order_clock(problem).run(found.rows);
            CHECK(again.makespan == doctest::Approx(found.score.makespan));
            CHECK(again.peak <= limit);
            CHECK(again.makespan >= order_bound(problem).makespan - 1e-9);
          }
}

TEST_CASE("order search: moves repair an order that was made worse") {
  cost_model const model{.every = {2.0, 2.0, 1.0}, .hop = 0.5};
  auto const problem = problem_of<placement::loop>(4, 1, 8, true, model);
  order_rows rows;
  auto const known = search_order(problem, order_goal::makespan, effort::large, rows);
  // One W of rank 2 far too early, before the F that others wait for.
  order_rows worse = rows;
  int weight = 0;
  int const row = 2 * worse.width;
  while (worse.steps[row + weight].what != op::backward_weight) ++weight;
  int forward = weight;
  while (worse.steps[row + forward].what != op::backward_input) ++forward;
  std::swap(worse.steps[row + weight], worse.steps[row + forward]);
  auto const start = order_clock(problem).run(worse);
  if (start.found()) {
    auto const after = improve_order(problem, order_goal::makespan, worse).run(start, effort::large);
    CHECK(after.makespan <= start.makespan);
    CHECK(after.makespan == order_clock(problem).run(worse).makespan);
  }
  auto const better = improve_order(problem, order_goal::makespan, rows).run(known, effort::large);
  CHECK(better.makespan <= known.makespan);
}
