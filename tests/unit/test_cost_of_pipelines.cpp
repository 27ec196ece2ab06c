// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/cost.hpp>
#include <weft/schedule/cost_of_pipelines.hpp>
#include <weft/schedule/make_program.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace weft::schedule;

namespace {

program reducing(char const* name, int ranks, int micro_batches) {
  return make_program(name, ranks, micro_batches, {.tied = tied_stages::none, .reduce_over_data = true});
}

}  // namespace

TEST_CASE("pipelines: identical ones cost what one costs, however many") {
  auto const made = reducing("1f1b", 4, 8);
  cost_model const model{.hop = 0.1, .norm = 0.5, .step = 1.0, .reduce_data = 3.0};
  auto const alone = cost(made.view(), model);
  pipeline_kind const kind{made.view(), model, 16384};
  cost_summary each;
  auto const found = cost_of_pipelines(&kind, 1, &each);
  CHECK(found.complete);
  CHECK(found.pipelines == 16384);
  CHECK(found.makespan == alone.makespan);
  CHECK(found.idle_share == doctest::Approx(alone.idle_share(4)));
  CHECK(each.makespan == alone.makespan);
  CHECK(found.slowest == 0);
}

TEST_CASE("pipelines: all wait for the slowest where they reduce, and only there") {
  auto const made = reducing("1f1b", 2, 4);
  double const slow[] = {1.0, 2.0};  // rank 1 of one pipeline takes twice as long
  cost_model const plain{.step = 1.0, .reduce_data = 2.0};
  cost_model late = plain;
  late.rank_factors = slow;
  pipeline_kind const kinds[] = {{made.view(), plain, 15}, {made.view(), late, 1}};
  cost_summary each[2];
  auto const found = cost_of_pipelines(kinds, 2, each);
  // Stage 1 of the slow one ends at 1 + 24 and stage 0 two later; then 2 for the reduction and 1 (2) for STEP.
  CHECK(found.makespan == 27.0 + 2.0 + 2.0);
  CHECK(each[0].makespan == 30.0);
  CHECK(each[0].longest_span == 15.0);  // its passes never waited for the other pipeline
  CHECK(each[1].longest_span == 27.0);
  CHECK(found.slowest == 1);
  CHECK(found.pipelines == 16);
}

TEST_CASE("pipelines: a reduction overlaps with passes, one after the other on each rank, and takes the longest time") {
  auto const made = make_program("interleaved-1f1b", 2, 4, {.tied = tied_stages::none, .reduce_over_data = true});
  double const times[] = {1.0, 1.0, 9.0, 1.0};
  cost_model slow{.reduce_data = 1.0};
  cost_model slower = slow;
  slower.reductions = times;
  pipeline_kind const kinds[] = {{made.view(), slow, 1}, {made.view(), slower, 1}};
  // Stage 2 is behind its last backward at 21: nine for its reduction, and then one for stage 0.
  auto const times_of = make_timeline(made.view(), slow);
  double ready = 0.0;
  for (auto const& action : times_of.actions)
    if (action.what.what == op::backward && action.what.stage == 2) ready = std::max(ready, action.end);
  CHECK(cost_of_pipelines(kinds, 2).makespan == std::max(ready + 9.0, cost(made.view()).makespan) + 1.0);
}

TEST_CASE("pipelines: without reductions they go on alone; other stages are refused") {
  auto const made = make_program("gpipe", 2, 4);
  auto const longer = make_program("gpipe", 2, 9);
  pipeline_kind const kinds[] = {{made.view(), {}, 3}, {longer.view(), {}, 1}};
  cost_summary each[2];
  CHECK(cost_of_pipelines(kinds, 2, each).makespan == 30.0);
  CHECK(each[0].makespan == 15.0);
  auto const deeper = make_program("gpipe", 3, 4);
  pipeline_kind const unlike[] = {{made.view(), {}, 1}, {deeper.view(), {}, 1}};
  CHECK_THROWS_WITH_AS(cost_of_pipelines(unlike, 2),
                       "weft::schedule::cost: pipeline kind 1 has 3 stages and kind 0 has 2; gradients are reduced "
                       "stage by stage, so give all pipelines the same stages",
                       weft::error);
}

TEST_CASE("pipelines: 64 kinds of 64 ranks and 512 micro-batches, 16,384 pipelines in all") {
  auto const made = reducing("zb-h1", 64, 512);
  std::vector<pipeline_kind> kinds;
  std::vector<double> factors(64 * 64, 1.0);
  for (std::size_t kind = 0; kind < 64; ++kind) {
    factors[kind * 64 + kind] = 1.0 + static_cast<double>(kind) / 64.0;
    cost_model model{.hop = 0.01, .step = 1.0, .reduce_data = 5.0};
    model.rank_factors = factors.data() + kind * 64;
    kinds.push_back({made.view(), model, 256});
  }
  auto const found = cost_of_pipelines(kinds.data(), 64);
  CHECK(found.complete);
  CHECK(found.pipelines == 16384);
  CHECK(found.slowest == 63);
  // As slow as the slowest of them alone.
  CHECK(found.makespan == doctest::Approx(cost(made.view(), kinds.back().costs).makespan));
}
