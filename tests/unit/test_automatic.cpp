// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/plan/plan.hpp>
#include <weft/schedule/automatic.hpp>
#include <weft/schedule/compare_schedules.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace weft::schedule;

namespace {

// One activation: each micro-batch goes through alone, whatever the schedule is called.
using scarce = automatic<activation_limit<4>>;
static_assert(scarce::report<4, 8>.best >= 0);
static_assert(scarce::report<4, 8>.lines[scarce::report<4, 8>.best].figures.makespan <= 27.0);
static_assert(scarce::report<4, 8>.lines[scarce::report<4, 8>.best].figures.activations <= 4.0);

// Bytes: 3 activations and what I keeps fit.
using by_bytes = automatic<weft::memory_limit<1000>, rank_bytes<200, 0, 400>, costs<2, 2, 1>>;
static_assert(by_bytes::report<3, 5>.lines[by_bytes::report<3, 5>.best].figures.bytes <= 1000);

static_assert(std::is_same_v<automatic<>::chosen<1, 3>, serial>);

}  // namespace

TEST_CASE("automatic: lists what it looked at, and chooses the best of those that keep to the limit") {
  auto const& found = scarce::report<4, 8>;
  REQUIRE(found.best >= 0);
  auto const& best = found.lines[found.best];
  CHECK(std::string(scarce::chosen<4, 8>::name) == best.name);
  for (auto const& line : found) {
    CAPTURE(line.name);
    if (line.figures.why == left_out::none) {
      CHECK(line.figures.activations <= 4.0);
      CHECK(!line.figures.is_shorter_than(best.figures));
    } else if (line.figures.why != left_out::breaks_rule) {
      CHECK(!explain(line.figures).empty());
    }
    if (std::string(line.name) == "gpipe") CHECK(line.figures.why == left_out::too_many_activations);
    if (std::string(line.name) == "serial") CHECK(line.figures.why == left_out::breaks_rule);
    if (std::string(line.name) == "dualpipe") CHECK(line.figures.why == left_out::too_many_copies);
  }
}

TEST_CASE("automatic: looks at every schedule that the registry has and that waits for its steps") {
  for (auto const& entry : schedules) {
    CAPTURE(entry.name);
    bool listed = false;
    for (auto const& line : scarce::report<4, 8>) listed = listed || std::string(line.name) == entry.name;
    bool is_candidate = entry.chooses != choice::among_all;
    if (is_candidate && entry.check({}, 4, 8).legal()) {
      auto const table = entry.table({}, 4, 8);
      is_candidate = table.view().work.backward && !table.view().work.asynchronous;
    }
    CHECK(listed == is_candidate);
  }
}

TEST_CASE("automatic: more memory and a second copy of the weights are used where they help") {
  using roomy = automatic<weight_copies<2>, activation_limit<8>>;
  using poor = automatic<activation_limit<1>>;
  auto const& many = roomy::report<4, 8>;
  auto const& few = poor::report<4, 8>;
  CHECK(many.lines[many.best].figures.makespan <
        scarce::report<4, 8>.lines[scarce::report<4, 8>.best].figures.makespan + 1e-9);
  CHECK(few.lines[few.best].figures.makespan > many.lines[many.best].figures.makespan);
  CHECK(few.lines[few.best].figures.activations <= 1.0);
}

TEST_CASE("automatic: a plan takes what was chosen for its ranks and micro-batches") {
  using plan = weft::plan<scarce, weft::pipeline_ranks<4>, weft::micro_batches<8>>;
  static_assert(std::is_same_v<plan::schedule_policy, scarce::chosen<4, 8>>);
  static_assert(plan::report.peak_activations <= 4 * scarce::chosen<4, 8>::chunks);
  CHECK(std::string(plan::view().name) == scarce::chosen<4, 8>::name);
  CHECK(plan::program(4).view().ranks() == 4);
}
