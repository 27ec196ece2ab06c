// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using weft::transport::endpoint;
using weft::transport::in_process;

constexpr weft::schedule::lower_options bare{.tied = weft::schedule::tied_stages::none, .optimizer = false};

/// A stage with messages of its own: counts how often the engine asks it to move them.
struct busy_stage : toy::stage {
  using toy::stage::stage;
  std::atomic<int> turns{0};
  bool fails = false;
  void progress() {
    ++turns;
    if (fails) throw weft::error("the stage's own messages broke");
  }
};
static_assert(weft::progressing_stage<busy_stage> && !weft::progressing_stage<toy::stage>);

}  // namespace

TEST_CASE("engine waits: a stage with messages of its own moves them in every turn of a wait") {
  auto const program = weft::schedule::make_program("gpipe", 2, 1, bare);
  busy_stage first(2, 1);
  busy_stage last(2, 1);
  // Rank 1 computes until rank 0, which has nothing to do but wait for it, has asked its stage a few times.
  last.probe = [&](char what, toy::context const&) {
    while (what == 'F' && first.turns < 5) std::this_thread::yield();
  };
  in_process::run(2, [&](endpoint& door) {
    weft::pipeline<busy_stage, toy::space> engine(program.view(), door, door.rank() == 0 ? first : last);
    engine.step();
  });
  CHECK(first.turns >= 5);
}

TEST_CASE("engine waits: context.progress() asks the stage too, and its failure ends the step on every rank") {
  auto const program = weft::schedule::make_program("gpipe", 2, 3, bare);
  for (bool const fails : {false, true}) {
    busy_stage stages[] = {{2, 3}, {2, 3}};
    int before = 0;
    stages[1].probe = [&](char what, toy::context const& where) {
      if (what != 'I' || where.micro_batch() != 1) return;
      stages[1].fails = fails;
      before = stages[1].turns;
      where.progress();
      where.progress();
      if (stages[1].turns != before + 2) throw weft::error("progress() did not reach the stage");
    };
    auto const run = [&] {
      in_process::run(2, [&](endpoint& door) {
        weft::pipeline<busy_stage, toy::space> engine(program.view(), door, stages[door.rank()]);
        engine.step();
      });
    };
    if (fails)
      CHECK_THROWS_WITH_AS(run(), "rank 1, B of stage 1, micro-batch 1: the stage's own messages broke", weft::error);
    else
      CHECK_NOTHROW(run());
  }
}
