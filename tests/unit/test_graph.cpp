// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiled alone: it sees every launch
#include "support/launch_observer.hpp"
#include "support/tiny_training.hpp"

#include <weft/execution/graph.hpp>
#include <weft/model/llama_block.hpp>
#include <weft/model/llama_embedding.hpp>
#include <weft/model/llama_head.hpp>
#include <weft/model/repeat.hpp>
#include <weft/model/sized_chain.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace tiny_training;
using graphs = weft::execution::call_graphs<space>;

namespace {

/// tiny_llama with two frozen parameters in each block: their STEP is a copy to the other slot.
struct frozen_block : weft::model::llama_block<tiny_llama::size> {
  static std::vector<weft::parameters::parameter_descriptor> describe(int index) {
    auto all = weft::model::llama_block<tiny_llama::size>::describe(index);
    all[0].frozen = all[3].frozen = true;
    return all;
  }
};
struct frozen_llama : weft::model::sized_chain<weft::model::llama_embedding<tiny_llama::size>,
                                               weft::model::repeat<tiny_llama::size.blocks, frozen_block>,
                                               weft::model::llama_head<tiny_llama::size>> {
  static constexpr int vocabulary = tiny_llama::vocabulary;
  static constexpr int positions = tiny_llama::positions;
  static constexpr bool has_dropout = false;
  static std::string name() { return tiny_llama::name() + " with frozen parameters"; }
};

std::string all_of(std::set<std::string> const& names) {
  std::string text;
  for (auto const& each : names) text += each + "; ";
  return text;
}

/// With capture: the bits are those without, and a call's kernels and copies have the arguments of the call before with
/// its key. What they were.
template <class Model>
outcome check(plan how, int steps) {
  CAPTURE(how.schedule);
  auto plain = run<Model>(how, steps);
  how.capture = true;
  launch_observer::watch_copies();
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
  return plain;
}

/// A kernel that is given what its call should have found in memory.
struct by_value {
  static constexpr char const* label = "weft::by_value";
  char small;  // padding follows, which says nothing
  double micro_batch;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t) const {}
};

/// What Kokkos hands to a device by way of constant memory.
struct too_large {
  static constexpr char const* label = "weft::too_large";
  double numbers[64] = {};
  double* to;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const { to[index] = numbers[index]; }
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
  check<frozen_llama>({.schedule = "1f1b", .ranks = 2, .micro_batches = 3, .gradient_groups = 2}, 8);
}

TEST_CASE("graph: a frozen parameter's STEP is a copy between places that come again, and its value stays") {
  auto const found = check<frozen_llama>({.schedule = "zb-h1", .ranks = 3, .micro_batches = 6}, 8);
  int copies = 0;
  for (auto const& [label, count] : launch_observer::seen.labels)
    if (label.rfind("copy to ", 0) == 0) copies += count;
  CHECK(copies >= 8 * 5 * 2 * 3);  // a step, a block, a parameter: value and two moments
  for (int block = 0; block < 5; ++block) {
    std::string const at = "model.layers." + std::to_string(block) + ".";
    int named = 0;
    for (auto const& [name, values] : found.state) {
      if (name.find(at + "input_layernorm.weight") == std::string::npos) continue;
      ++named;  // ones as it was made, and moments of zero
      for (float const value : values) CHECK(value == (name.find("moment") == std::string::npos ? 1.0F : 0.0F));
    }
    CHECK(named == 3);
  }
}

TEST_CASE("graph: evaluations between recorded steps have their bits, and steps notice nothing") {
  struct losses {
    std::vector<double> steps;
    std::vector<double> evaluations;
    bool operator==(losses const&) const = default;
  };
  auto const train = [](bool captures, bool evaluates) {
    losses found;
    weft::transport::in_process::run(2, [&](auto& door) {
      weft::train::trainer_options options;
      options.extents = {2, length};
      options.dropout = 0.1;
      options.capture = captures;
      weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("1f1b", 2, 4), door, options);
      token_source const other(tiny::vocabulary, sequences, length, 999);
      for (int step = 0; step < 6; ++step) {
        token_source const batch(tiny::vocabulary, sequences, length, static_cast<unsigned>(step));
        double const loss = trainer.step(batch.view(4, static_cast<std::uint64_t>(step))).loss;
        double const evaluated = evaluates ? trainer.evaluate(other.view(step < 3 ? 4 : 7, 0)) : 0.0;
        if (door.rank() != 0) continue;
        found.steps.push_back(loss);
        if (evaluates) found.evaluations.push_back(evaluated);
      }
      if (captures) CHECK(trainer.stage().model().captures().replayed >= 20);
    });
    return found;
  };
  auto const plain = train(false, true);
  launch_observer::watch_copies();
  launch_observer::seen = {};
  CHECK(train(true, true) == plain);
  CHECK_MESSAGE(launch_observer::seen.wrong.empty(), all_of(launch_observer::seen.wrong));
  CHECK(train(true, false).steps == plain.steps);
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

TEST_CASE(
    "graph: what waits, allocates or is too large while a call is recorded is refused by name, and may do so "
    "afterwards") {
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
  double to = 0.0;
  too_large functor{.to = &to};
  functor.numbers[0] = 3.0;
  auto const launches = [&](bool) { weft::execution::for_each(space{}, 1, functor); };
  kept.run(space{}, {3}, launches);
  CHECK(to == 3.0);
  try {
    kept.run(space{}, {3}, launches);
    FAIL("it was recorded");
  } catch (weft::error const& refused) {
    std::string const words = refused.what();
    CHECK(words.rfind("weft::graph: the launch of 'weft::too_large' takes ", 0) == 0);
    CHECK(words.find(" bytes, and from 512 on a device's launches wait, which a recorded call cannot; let the functor "
                     "point to what it holds, or train without capture") != std::string::npos);
  }
  weft::execution::fence(space{}, "weft::outside");
  allocates(false);
  launches(false);
}
