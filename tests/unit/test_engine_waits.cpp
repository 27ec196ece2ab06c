// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/forwarding_door.hpp"
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
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

namespace {

/// A door without a launch lock: these stages launch no kernels, and one that hangs must not hang the others.
class free_door : public weft_test::forwarding_door {
 public:
  using forwarding_door::forwarding_door;
  [[nodiscard]] weft::transport::launch_guard launch_lock() override { return {}; }
};

/// A transport that moves a message only while its receiver tests that very message, and a hundred times at that: the
/// least that MPI promises of progress.
class reluctant_door final : public free_door {
 public:
  using free_door::free_door;
  [[nodiscard]] weft::transport::request receive(void* data, std::size_t bytes, int peer, int tag) override {
    auto const posted = free_door::receive(data, bytes, peer, tag);
    tests_[posted.handle] = 0;
    return posted;
  }
  [[nodiscard]] bool test(weft::transport::request& posted) override {
    if (posted.pending && !posted.is_send && ++tests_[posted.handle] < 100) return false;
    bool const was_receive = posted.pending && !posted.is_send;
    if (!free_door::test(posted)) return false;
    if (was_receive && is_computing) ++arrived_while_computing;
    return true;
  }

  bool is_computing = false;
  int arrived_while_computing = 0;

 private:
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

namespace {

/// What each rank's exception says when rank `culprit` does `act` in its pass `pass`; "" where a rank ended well.
std::vector<std::string> stories(char const* schedule, int ranks, int culprit, int pass,
                                 std::function<void(toy::context const&)> const& act) {
  auto const program = weft::schedule::make_program(schedule, ranks, 4, bare);
  std::vector<std::string> all(static_cast<std::size_t>(ranks));
  in_process::run(ranks, [&](endpoint& inner) {
    free_door door(inner);
    toy::stage stage(ranks, 4);
    int passes = 0;
    stage.probe = [&](char, toy::context const& where) {
      if (door.rank() == culprit && passes++ == pass) act(where);
    };
    weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage, {.deadline = 0.3});
    try {
      engine.step();
    } catch (weft::error const& failure) {
      all[static_cast<std::size_t>(door.rank())] = failure.what();
    }
  });
  return all;
}

bool says(std::string const& story, std::string const& words) { return story.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("engine waits: a rank that hangs is named by all others, with who waits for whom") {
  for (char const* const schedule : {"gpipe", "zb-h1"}) {
    // Rank 2 of 4 hangs in its second pass until the others have told their story, then goes on and hears of it.
    auto const all = stories(schedule, 4, 2, 1, [](toy::context const&) {
      std::this_thread::sleep_for(std::chrono::duration<double>(0.3 + weft::transport::answer_seconds + 1.5));
    });
    for (int const rank : {0, 1, 3}) {
      CAPTURE(all[static_cast<std::size_t>(rank)]);
      auto const& story = all[static_cast<std::size_t>(rank)];
      CHECK(says(story, "rank 2 holds up the others: it does not answer"));
      CHECK(says(story, "\n  rank 2 does not answer"));
      CHECK(says(story, "weft::pipeline: rank " + std::to_string(rank) + " waited "));
      for (int const other : {0, 1, 3}) CHECK(says(story, "\n  rank " + std::to_string(other) + " waited "));
    }
    CHECK(says(all[0], "rank 0 waits for rank 1, that for rank 2; rank 2"));
    CHECK(says(all[0], "B of stage 0, micro-batch 0 for gradients from rank 1") == (std::string(schedule) == "gpipe"));
    CHECK(says(all[0], "I of stage 0, micro-batch 0 for gradients from rank 1") == (std::string(schedule) == "zb-h1"));
    CHECK(says(all[3], "F of stage 3, micro-batch 1 for activations from rank 2"));
    CHECK(says(all[3], schedule == std::string("gpipe") ? ", after RECV_F0" : "I0"));
    CHECK(!all[2].empty());
  }
}

TEST_CASE("engine waits: a rank that computes for too long, and says so, is named with what it computes") {
  auto const all = stories("1f1b", 3, 1, 2, [](toy::context const& where) {
    for (;;) where.progress();
  });
  for (int rank = 0; rank < 3; ++rank) {
    auto const& story = all[static_cast<std::size_t>(rank)];
    CAPTURE(story);
    CHECK(says(story, "\n  rank 1 computes B of stage 1, micro-batch 0, after "));
    CHECK(says(story, "rank 1 holds up the others: rank 1 computes B of stage 1, micro-batch 0") == (rank != 1));
  }
}

namespace {

/// Rank 0 goes on after its first send only once another rank computes, so that it must queue for the launch lock.
class queueing_door final : public weft_test::forwarding_door {
 public:
  queueing_door(endpoint& inner, std::atomic<bool> const& is_computing)
      : forwarding_door(inner),
        is_computing_(is_computing) {}
  [[nodiscard]] weft::transport::request send(void const* data, std::size_t bytes, int peer, int tag) override {
    auto const posted = forwarding_door::send(data, bytes, peer, tag);
    while (rank() == 0 && !is_computing_) std::this_thread::yield();
    return posted;
  }

 private:
  std::atomic<bool> const& is_computing_;
};

/// Three ranks that share the process's launch lock: rank 1 does `act(context, how many stories have been told)` in its
/// first pass, rank 0 waits for its turn to launch, rank 2 for activations.
std::vector<std::string> stories_of_a_queue(
    std::function<void(toy::context const&, std::atomic<int> const&)> const& act) {
  auto const program = weft::schedule::make_program("gpipe", 3, 4, bare);
  std::atomic<bool> is_computing{false};
  std::atomic<int> made{0};
  std::atomic<int> told{0};
  std::vector<std::string> all(3);
  in_process::run(3, [&](endpoint& inner) {
    queueing_door door(inner, is_computing);
    toy::stage stage(3, 4);
    stage.probe = [&](char, toy::context const& where) {
      if (door.rank() != 1 || is_computing.exchange(true)) return;
      act(where, told);
    };
    weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage, {.deadline = 0.3});
    ++made;
    while (made < 3) std::this_thread::yield();  // making one takes the lock, too
    try {
      engine.step();
    } catch (weft::error const& failure) {
      all[static_cast<std::size_t>(door.rank())] = failure.what();
      ++told;
    }
  });
  return all;
}

}  // namespace

TEST_CASE("engine waits: a rank in the queue for the launch lock answers, and is not taken for the culprit") {
  auto const all = stories_of_a_queue([](toy::context const&, std::atomic<int> const& told) {
    while (told < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // with the launch lock in its hands
  });
  for (std::size_t const rank : {0U, 2U}) {
    auto const& story = all[rank];
    CAPTURE(story);
    CHECK(says(story, "s for its turn to launch kernels, which rank 1 has"));
    CHECK(says(story, "\n  rank 1 does not answer"));
    CHECK(says(story,
               "rank " + std::to_string(rank) + " waits for rank 1; rank 1 holds up the others: it does not answer"));
    CHECK_FALSE(says(story, "rank 0 does not answer"));
  }
  CHECK_FALSE(all[1].empty());
}

TEST_CASE("engine waits: a rank that computes lets go of the launch lock before it tells its story") {
  auto const all = stories_of_a_queue([](toy::context const& where, std::atomic<int> const&) {
    for (;;) where.progress();
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    auto const& story = all[rank];
    CAPTURE(story);
    CHECK(says(story, "\n  rank 0 waited "));
    CHECK(says(story, "\n  rank 1 computes F of stage 1, micro-batch 0, after "));
    CHECK(says(story, "\n  rank 2 waited "));
    CHECK_FALSE(says(story, "does not answer"));
    CHECK(says(story, "rank " + std::to_string(rank) +
                          " waits for rank 1; rank 1 holds up the others: rank 1 computes F of stage 1") ==
          (rank != 1));
  }
}

TEST_CASE("engine waits: ranks that wait for each other are told so") {
  auto const table_of = [](char const* order) {
    weft::schedule::program table(
        "custom", weft::topology::stage_graph::chain(2).place(weft::topology::placement::loop{}, 2), 2, {}, 8);
    using weft::schedule::op;
    for (int stage = 0; stage < 2; ++stage) {
      for (char const* cell = order; *cell != 0; cell += 2)
        table.append(weft::schedule::make_action(cell[0] == 'F' ? op::forward : op::backward, stage, cell[1] - '0'));
      table.end_row();
    }
    return weft::schedule::lower(table.view(), bare);
  };
  auto const in_turn = table_of("F0B0F1B1");
  auto const all_forward = table_of("F0F1B0B1");
  std::vector<std::string> all(2);
  in_process::run(2, [&](endpoint& door) {
    toy::stage stage(2, 2);
    auto const& mine = door.rank() == 0 ? in_turn : all_forward;
    weft::pipeline<toy::stage, toy::space> engine(mine.view(), door, stage, {.deadline = 0.3});
    try {
      engine.step();
    } catch (weft::error const& failure) {
      all[static_cast<std::size_t>(door.rank())] = failure.what();
    }
  });
  for (auto const& story : all) {
    CAPTURE(story);
    CHECK(says(story, "B of stage 0, micro-batch 0 for gradients from rank 1"));
    CHECK(says(story, "F of stage 1, micro-batch 1 for activations from rank 0"));
    CHECK(says(story, ": nobody can go on, so these ranks play different programs"));
  }
  CHECK(says(all[0], "rank 0 waits for rank 1, that for rank 0: nobody"));
}

TEST_CASE("standstill: the culprit, from every rank's side") {
  using weft::transport::name_culprit;
  using weft::transport::whereabouts;
  std::vector<whereabouts> const all{{true, 1, "rank 0 waited"},    {true, 2, "rank 1 waited"},
                                     {true, -1, "rank 2 computes"}, {false, -1, ""},
                                     {true, 3, "rank 4 waited"},    {true, 5, "rank 5 waited"}};
  CHECK(name_culprit(all, 0) ==
        "rank 0 waits for rank 1, that for rank 2; rank 2 holds up the others: rank 2 computes");
  CHECK(name_culprit(all, 2).empty());
  CHECK(name_culprit(all, 3).empty());
  CHECK(says(name_culprit(all, 4), "rank 4 waits for rank 3; rank 3 holds up the others: it does not answer"));
  CHECK(says(name_culprit(all, 5), "rank 5 waits for rank 5: nobody can go on"));
  CHECK(name_culprit({}, 0).empty());
}
