// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiled alone: it sees every launch
#include "support/launch_observer.hpp"
#include "support/tiny_training.hpp"

#include <weft/execution/graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace tiny_training;
using graphs = weft::execution::call_graphs<space>;

namespace {

std::string all_of(std::set<std::string> const& names) {
  std::string text;
  for (auto const& each : names) text += each + "; ";
  return text;
}

/// With capture: the bits are those without, and a call's kernels have the arguments of the call before with its key.
template <class Model>
void check(plan how, int steps) {
  CAPTURE(how.schedule);
  auto const plain = run<Model>(how, steps);
  how.capture = true;
  launch_observer::seen = {};
  CHECK(run<Model>(how, steps) == plain);
  auto const& seen = launch_observer::seen;
  CHECK_MESSAGE(seen.wrong.empty(), all_of(seen.wrong));
  CHECK(seen.repeated > 1000);  // and there was something to compare
  for (char const* const label : {"weft::gemm", "weft::cross_entropy_backward", "weft::adamw"}) {
    CAPTURE(label);
    CHECK(seen.labels.count(label) == 1);
  }
  // The steady state: most calls come again, and most of those more than twice.
  auto const again =
      std::count_if(seen.calls.begin(), seen.calls.end(), [](auto const& each) { return each.second > 2; });
  CHECK(10 * again >= 9 * static_cast<std::ptrdiff_t>(seen.calls.size()));
}

/// A kernel that is given what its call should have found in memory.
struct by_value {
  static constexpr char const* label = "weft::by_value";
  char small;  // padding follows, which says nothing
  double micro_batch;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t) const {}
};

}  // namespace

TEST_CASE("graph: a kernel that gets a micro-batch's number by value is found and named") {
  graphs kept;
  kept.enable(true);
  launch_observer::seen = {};
  auto const call = [&](double number) {
    kept.run(space{}, {1}, [&](bool) { weft::execution::for_each(space{}, 3, by_value{'a', number}); });
  };
  call(1.0);
  call(1.0);
  CHECK(launch_observer::seen.wrong.empty());
  call(2.0);
  if (launch_observer::sees_arguments) {
    REQUIRE(launch_observer::seen.wrong.size() == 1);
    CHECK(launch_observer::seen.wrong.begin()->rfind("weft::by_value, byte ", 0) == 0);
  }
}

TEST_CASE("graph: calls of one key launch the same kernels with the same arguments, and bits stay") {
  check<tiny>({.schedule = "1f1b", .ranks = 3, .micro_batches = 6, .dropout = 0.1}, 8);
  check<tiny>({.schedule = "zb-h1",
               .ranks = 2,
               .micro_batches = 5,
               .recompute = true,
               .dropout = 0.2,
               .scaling = {.how = weft::train::loss_scaling::kind::dynamic}},
              8);
  check<tiny_llama>({.schedule = "zb-h1", .ranks = 3, .micro_batches = 6}, 8);
  check<tiny_llama>({.schedule = "1f1b", .ranks = 2, .micro_batches = 3, .gradient_groups = 2}, 8);
}

TEST_CASE("graph: the first call runs, the second is recorded, the others are replays") {
  graphs kept;
  int runs = 0;
  int records = 0;
  auto const call = [&](bool is_recorded) {
    ++runs;
    records += is_recorded ? 1 : 0;
  };
  kept.run(space{}, {1}, call);
  kept.run(space{}, {1}, call);
  CHECK(records == 0);  // off at first
  kept.enable(true);
  for (int turn = 0; turn < 4; ++turn) kept.run(space{}, {1}, call);
  kept.run(space{}, {2}, call);
  CHECK(runs == 7);
  CHECK(records == 1);
  CHECK(kept.seen().plain == 2);
  CHECK(kept.seen().recorded == 1);
  CHECK(kept.seen().replayed == 2);
  kept.forget();
  for (int turn = 0; turn < 2; ++turn) kept.run(space{}, {1}, call);
  CHECK(records == 2);
}

TEST_CASE("graph: what waits or allocates while a call is recorded is refused by name, and may do so afterwards") {
  graphs kept;
  kept.enable(true);
  auto const waits = [](bool) { weft::execution::fence(space{}, "weft::in_a_call"); };
  kept.run(space{}, {1}, waits);
  CHECK_THROWS_WITH_AS(kept.run(space{}, {1}, waits),
                       "weft::graph: 'weft::in_a_call' waits in the midst of a call that is recorded, and no replay "
                       "would; do it in prepare or begin, or train without capture",
                       weft::error);
  auto const allocates = [](bool) {
    static_cast<void>(weft::execution::allocate<Kokkos::View<float*, Kokkos::HostSpace>>("weft::room", 3));
  };
  kept.run(space{}, {2}, allocates);
  CHECK_THROWS_WITH_AS(kept.run(space{}, {2}, allocates),
                       "weft::graph: 'weft::room' is allocated in the midst of a call that is recorded, and no replay "
                       "would; do it in prepare or begin, or train without capture",
                       weft::error);
  weft::execution::fence(space{}, "weft::outside");
  allocates(false);
}
