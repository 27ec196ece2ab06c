// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
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

namespace {

/// A transport that moves a message only while its receiver tests that very message, and a hundred times at that: the
/// least that MPI promises of progress.
class reluctant_door final : public endpoint {
 public:
  explicit reluctant_door(endpoint& inner) : inner_(inner) {}
  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] weft::transport::request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return inner_.send(data, bytes, peer, tag);
  }
  [[nodiscard]] weft::transport::request receive(void* data, std::size_t bytes, int peer, int tag) override {
    auto const posted = inner_.receive(data, bytes, peer, tag);
    tests_[posted.handle] = 0;
    return posted;
  }
  [[nodiscard]] bool test(weft::transport::request& posted) override {
    if (posted.pending && !posted.is_send && ++tests_[posted.handle] < 100) return false;
    bool const was_receive = posted.pending && !posted.is_send;
    if (!inner_.test(posted)) return false;
    if (was_receive && is_computing) ++arrived_while_computing;
    return true;
  }
  [[nodiscard]] std::size_t received_bytes() const override { return inner_.received_bytes(); }
  [[nodiscard]] bool abandon(weft::transport::request& posted) noexcept override { return inner_.abandon(posted); }
  void announce_failure(std::string_view message) noexcept override { inner_.announce_failure(message); }
  void check_failure() override { inner_.check_failure(); }
  void yield() noexcept override { inner_.yield(); }
  [[nodiscard]] std::unique_lock<std::mutex> launch_lock() override { return {}; }

  bool is_computing = false;
  int arrived_while_computing = 0;

 private:
  endpoint& inner_;
  std::map<std::uintptr_t, int> tests_;
};

}  // namespace

TEST_CASE("engine waits: messages arrive while a stage computes, if it calls context.progress()") {
  constexpr int micro_batches = 3;
  auto const program = weft::schedule::make_program("gpipe", 2, micro_batches, bare);
  for (bool const calls : {true, false}) {
    int arrived = -1;
    std::vector<double> losses;
    std::atomic<int> sent{0};
    in_process::run(2, [&](endpoint& inner) {
      reluctant_door door(inner);
      toy::stage stage(2, micro_batches);
      stage.probe = [&](char what, toy::context const& where) {
        if (what != 'F') return;
        if (door.rank() == 0) ++sent;
        if (door.rank() != 1 || where.micro_batch() != 0) return;
        while (sent < micro_batches) std::this_thread::yield();  // the last F begins when the one before is posted
        door.is_computing = true;
        for (int kernel = 0; calls && kernel < 1000; ++kernel) where.progress();
        door.is_computing = false;
      };
      weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage);
      engine.step();
      if (door.rank() == 1) {
        arrived = door.arrived_while_computing;
        losses = stage.losses;
      }
    });
    CHECK(arrived >= (calls ? 1 : 0));
    CHECK(arrived <= (calls ? 2 : 0));
    toy::stage serial(1, micro_batches);
    in_process::run(1, [&](endpoint& door) {
      auto const alone = weft::schedule::make_program("serial", 1, micro_batches, bare);
      weft::pipeline<toy::stage, toy::space>(alone.view(), door, serial).step();
    });
    CHECK(losses == serial.losses);
  }
}

TEST_CASE("engine waits: every schedule runs over a transport that moves nothing by itself") {
  for (char const* const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks = 2; ranks <= 4; ++ranks) {
      auto const program = weft::schedule::make_program(schedule, ranks, 5, bare);
      CHECK_NOTHROW(in_process::run(ranks, [&](endpoint& inner) {
        reluctant_door door(inner);
        toy::stage stage(ranks, 5);
        weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage, {.deadline = 30.0});
        for (int step = 0; step < 3; ++step) engine.step();
      }));
    }
}
