// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_reduce_checks.hpp"
#include "support/forwarding_door.hpp"

#include <weft/collective/all.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {
thread_local long allocations = 0;
}

// clang's thread sanitizer brings an `operator new` that cannot be replaced: nothing is counted there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TEST_COUNTS_NOTHING
#endif
#endif

#ifndef WEFT_TEST_COUNTS_NOTHING
// Not inlined: g++ would otherwise see malloc where it expects operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

using weft::collective::all_reduce_choice;
using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::running_all_reduce;
using weft::transport::running_collective;

namespace {

std::vector<std::string> policies() {
  std::vector<std::string> names(std::begin(weft::collective::all_reduce_names),
                                 std::end(weft::collective::all_reduce_names));
  names.push_back("hierarchical:3");
  return names;
}

std::string refusal(int ranks, std::function<void(endpoint&)> const& function) {
  try {
    in_process::run(ranks, function);
  } catch (weft::error const& failure) {
    return failure.what();
  }
  return "accepted";
}

/// Any steps that break no rule of a list, though they achieve nothing in particular.
weft::collective::step_list random_list(std::mt19937& random) {
  auto const below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  int const ranks = 2 + below(4);
  int const chunks = 1 + below(4);
  int const rounds = 1 + below(6);
  std::vector<weft::collective::step> steps;
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> use(static_cast<std::size_t>(ranks * chunks));  // 1: sent, 2: added to, 4: replaced
    for (int tries = 0; tries < 3 * ranks * chunks; ++tries) {
      int const from = below(ranks);
      int const to = below(ranks);
      int const chunk = below(chunks);
      bool const adds = below(3) > 0;
      int& source = use[static_cast<std::size_t>(from * chunks + chunk)];
      int& target = use[static_cast<std::size_t>(to * chunks + chunk)];
      if (from == to || (source & 4) != 0 || target > 1 || (!adds && target != 0)) continue;
      source |= 1;
      target |= adds ? 2 : 4;
      steps.push_back(
          {round, from, to, chunk, adds ? weft::collective::arrival::add : weft::collective::arrival::copy});
    }
  }
  weft::collective::step_list list{ranks, chunks, rounds,
                                   weft::detail::buffer<weft::collective::step>(static_cast<int>(steps.size()))};
  for (std::size_t index = 0; index < steps.size(); ++index) list.steps[static_cast<int>(index)] = steps[index];
  return list;
}

}  // namespace

TEST_CASE("running all-reduce: the bits of play_locally, any policy, size, segment and type, on 1 to 9 ranks") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (auto const& name : policies()) {
      CAPTURE(ranks);
      CAPTURE(name);
      all_reduce_choice const how(name);
      std::atomic<int> wrong{0};
      in_process::run(ranks, [&](endpoint& door) {
        for (std::int64_t const elements : {0, 1, 2, ranks - 1, ranks, ranks + 1})
          if (!weft_test::sums_are_right<float>(door, how, elements, 0)) ++wrong;
        if (!weft_test::sums_are_right<double>(door, how, ranks + 1, 1)) ++wrong;
        if (!weft_test::sums_are_right<double>(door, how, 1009, 7)) ++wrong;
        if (!weft_test::sums_are_right<float>(door, how, 1009, 128)) ++wrong;
        if (ranks % 3 == 0 && !weft_test::sums_are_right<float>(door, how, 100003, 4096, 1)) ++wrong;
        if (ranks == 2 && !weft_test::sums_are_right<double>(door, how, 100003, 0, 1)) ++wrong;
      });
      CHECK(wrong == 0);
    }
}

TEST_CASE("running all-reduce: several under way, started in one order, advanced and completed in each rank's own") {
  struct wish {
    char const* name;
    std::int64_t elements;
    std::int64_t segment;
  };
  wish const wishes[] = {{"ring", 5003, 100}, {"recursive-halving", 3, 0}, {"recursive-doubling", 2001, 64},
                         {"tree", 777, 10},   {"hierarchical", 4099, 512}, {"ring", 5003, 100}};
  constexpr std::size_t count = std::size(wishes);
  for (int const ranks : {2, 3, 4, 7}) {
    std::atomic<int> wrong{0};
    in_process::run(ranks, [&](endpoint& door) {
      std::vector<std::unique_ptr<running_all_reduce<float>>> running;
      for (std::size_t index = 0; index < count; ++index)
        running.push_back(std::make_unique<running_all_reduce<float>>(
            door, all_reduce_choice(wishes[index].name), wishes[index].elements,
            weft::schedule::running_tag(static_cast<int>(index)),
            weft::transport::all_reduce_options{wishes[index].segment}));
      for (int turn = 0; turn < 4; ++turn) {
        std::vector<weft_test::fenced_buffer<float>> buffers;
        for (std::size_t index = 0; index < count; ++index)
          buffers.emplace_back(door.rank(), wishes[index].elements, static_cast<int>(index));
        for (std::size_t index = 0; index < count; ++index) running[index]->start(buffers[index].data());
        auto const first = static_cast<std::size_t>(door.rank() + turn);
        if (turn % 2 == 0) {  // whichever moves
          for (std::size_t done = 0; done < count;) {
            done = 0;
            for (std::size_t each = 0; each < count; ++each)
              done += running[(first + each) % count]->advance() ? 1U : 0U;
            door.check_failure();
            door.yield();
          }
        } else {  // each rank waits for another one first, and keeps the others moving
          for (std::size_t each = 0; each < count; ++each)
            running[(first + each) % count]->wait(60.0, [&] {
              for (auto& other : running) static_cast<void>(other->advance());
            });
        }
        for (std::size_t index = 0; index < count; ++index) {
          auto const list = all_reduce_choice(wishes[index].name).list(ranks);
          if (!buffers[index].holds(
                  weft_test::expected_sums<float>(list, wishes[index].elements, static_cast<int>(index))))
            ++wrong;
        }
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("running collective: any list that breaks no rule, in segments far more than there are posts") {
  std::mt19937 random(20260601);
  for (int trial = 0; trial < 60; ++trial) {
    auto const list = random_list(random);
    CAPTURE(trial);
    REQUIRE(check(list, weft::collective::goal::broadcast).what != weft::collective::list_fault::written_twice);
    REQUIRE(check(list, weft::collective::goal::broadcast).what != weft::collective::list_fault::read_while_written);
    std::int64_t const elements = 400 + trial;
    std::vector<std::vector<double>> expected(static_cast<std::size_t>(list.ranks));
    std::vector<double*> data;
    for (int rank = 0; rank < list.ranks; ++rank) {
      auto& mine = expected[static_cast<std::size_t>(rank)];
      for (std::int64_t each = 0; each < elements; ++each) mine.push_back(weft_test::contribution<double>(rank, each));
      data.push_back(mine.data());
    }
    weft::collective::play_locally(list, data.data(), elements);
    std::atomic<int> wrong{0};
    in_process::run(list.ranks, [&](endpoint& door) {
      for (std::int64_t const segment : {3, 50, 1000}) {
        weft_test::fenced_buffer<double> mine(door.rank(), elements);
        running_collective<double> running(door, list, elements, weft::schedule::running_tag(3), "random", segment);
        running.start(mine.data());
        running.wait(60.0);
        if (!mine.holds(expected[static_cast<std::size_t>(door.rank())])) ++wrong;
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("running collective: all send and add the same chunk in one round, round after round") {
  constexpr int ranks = 5;
  constexpr int rounds = 4;
  weft::collective::step_list list{ranks, 1, rounds, weft::detail::buffer<weft::collective::step>(ranks * rounds)};
  for (int round = 0; round < rounds; ++round)
    for (int rank = 0; rank < ranks; ++rank)
      list.steps[round * ranks + rank] = {round, rank, (rank + 1 + round % 2) % ranks, 0,
                                          weft::collective::arrival::add};
  std::vector<std::vector<float>> expected(ranks);
  std::vector<float*> data;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t each = 0; each < 500; ++each)
      expected[static_cast<std::size_t>(rank)].push_back(weft_test::contribution<float>(rank, each));
    data.push_back(expected[static_cast<std::size_t>(rank)].data());
  }
  weft::collective::play_locally(list, data.data(), 500);
  std::atomic<int> wrong{0};
  in_process::run(ranks, [&](endpoint& door) {
    weft_test::fenced_buffer<float> mine(door.rank(), 500);
    running_collective<float> running(door, list, 500, weft::schedule::running_tag(0), "storm", 2);
    running.start(mine.data());
    running.wait(60.0);
    if (!mine.holds(expected[static_cast<std::size_t>(door.rank())])) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("running all-reduce: nothing is allocated once it is made") {
  for (auto const& name : policies()) {
    CAPTURE(name);
    std::atomic<long> made{0};
    in_process::run(3, [&](endpoint& door) {
      running_all_reduce<float> running(door, all_reduce_choice(name), 10007, weft::schedule::running_tag(0),
                                        {.segment_elements = 256});
      {  // the transport makes a request object for each one that is pending at once: have them made beforehand
        std::vector<weft::transport::request> posts;
        char nothing = 0;
        for (int each = 0; each < 64; ++each) posts.push_back(door.receive(&nothing, 0, (door.rank() + 1) % 3, 7));
        for (auto& each : posts) static_cast<void>(door.abandon(each));
      }
      weft_test::fenced_buffer<float> mine(door.rank(), 10007);
      long const before = allocations;
      for (int turn = 0; turn < 3; ++turn) {
        running.start(mine.data());
        running.wait(60.0);
      }
      made += allocations - before;
    });
    CHECK(made == 0);
  }
}

TEST_CASE("running all-reduce: a rank that fails in the midst ends all, and leaves no message behind") {
  for (auto const& name : policies())
    for (int failing = 0; failing < 4; ++failing) {
      CAPTURE(name);
      CAPTURE(failing);
      std::atomic<int> heard{0};
      CHECK_THROWS_WITH_AS(in_process::run(4,
                                           [&](endpoint& door) {
                                             std::vector<float> first(5000, 1.0F);
                                             std::vector<float> second(5000, 1.0F);
                                             running_all_reduce<float> one(door, all_reduce_choice(name), 5000, 32001,
                                                                           {.segment_elements = 50});
                                             running_all_reduce<float> two(door, all_reduce_choice("ring"), 5000, 32002,
                                                                           {.segment_elements = 50});
                                             one.start(first.data());
                                             two.start(second.data());
                                             if (door.rank() == failing) {
                                               for (int each = 0; each < 5; ++each) static_cast<void>(one.advance());
                                               throw weft::error("enough");
                                             }
                                             try {
                                               one.wait(60.0, [&] { static_cast<void>(two.advance()); });
                                               two.wait(60.0);
                                             } catch (weft::remote_error const& failure) {
                                               if (std::string(failure.what()) == "enough") ++heard;
                                               CHECK(one.give_up());
                                               throw;
                                             }
                                           }),
                           "enough", weft::error);
      CHECK(heard == 3);
    }
}

TEST_CASE("running all-reduce: given up, it can be started again") {
  std::atomic<int> wrong{0};
  in_process::run(2, [&](endpoint& door) {
    running_all_reduce<double> running(door, all_reduce_choice("ring"), 64, 32001, {.segment_elements = 8});
    std::vector<double> data(64, 1.0);
    running.start(data.data());
    if (!running.give_up()) ++wrong;
    // Both have given up before either starts again.
    double const mine = 1.0;
    std::vector<double> all(2);
    weft::transport::all_gather(door, &mine, sizeof mine, all.data());
    std::fill(data.begin(), data.end(), door.rank() + 1.0);
    running.start(data.data());
    running.wait(60.0);
    for (double const each : data) wrong += each != 3.0 ? 1 : 0;
  });
  CHECK(wrong == 0);
}

namespace {

/// A library whose sum never comes.
class idle_library final : public weft_test::forwarding_door {
 public:
  using forwarding_door::forwarding_door;
  [[nodiscard]] bool has_library() const override { return true; }
  [[nodiscard]] weft::transport::request library_all_reduce(void* data, std::int64_t,
                                                            weft::transport::summand) override {
    return receive(data, 0, 1 - rank(), 32002);
  }
};

}  // namespace

TEST_CASE("running all-reduce: a wait for the library says how long it really was") {
  std::vector<std::string> all(2);
  in_process::run(2, [&](endpoint& inner) {
    idle_library door(inner);
    running_all_reduce<float> running(door, all_reduce_choice("mpi"), 4, 32001);
    float data[4] = {};
    running.start(data);
    try {
      running.wait(door.rank() == 0 ? 0.2 : 7000.0);  // rank 0 gives up, and rank 1 hears of it
    } catch (weft::error const& failure) {
      all[static_cast<std::size_t>(door.rank())] = failure.what();
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    auto const words = "all_reduce: rank " + std::to_string(rank) + " waited ";
    auto const& story = all[static_cast<std::size_t>(rank)];
    CAPTURE(story);
    CHECK(story.find(words) != std::string::npos);
    CHECK(story.find(words + "7000 s") == std::string::npos);
  }
}

TEST_CASE("running all-reduce: what it refuses, and in which words") {
  auto const over = [](char const* name) {
    return [name](endpoint& door) {
      running_all_reduce<float> running(door, all_reduce_choice(name), 4, 32001);
      float data[4] = {};
      running.start(data);
    };
  };
  CHECK(refusal(1, over("mpi"))
            .find("this transport has no library of collectives, so there is no all-reduce \"mpi\"; "
                  "choose ring, recursive-doubling, recursive-halving, tree or hierarchical") != std::string::npos);
  CHECK(refusal(2, [](endpoint& door) {
          running_all_reduce<int> running(door, all_reduce_choice("mpi"), 4, 32001);
        }).find("the library sums float and double alone") != std::string::npos);
  CHECK(refusal(2, [](endpoint& door) {
          running_all_reduce<float> running(door, all_reduce_choice("ring"), 4, 32001);
          float data[4] = {};
          running.start(data);
          running.start(data);
        }).find("it is under way already") != std::string::npos);
  CHECK(refusal(2, [](endpoint& door) {
          running_collective<float> running(door, weft::collective::ring::all_reduce(3), 4, 32001, "sum");
        }) == "weft::transport: sum: the step list is for 3 ranks and there are 2; make one of the right size");
  CHECK(refusal(1, [](endpoint& door) {
          running_all_reduce<float> running(door, all_reduce_choice("ring"), -4, 32001);
        }).find("-4 elements") != std::string::npos);
  auto const late = refusal(2, [](endpoint& door) {
    running_all_reduce<float> running(door, all_reduce_choice("ring"), 4, 32001);
    float data[4] = {};
    if (door.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    if (door.rank() == 1) return;
    running.start(data);
    running.wait(0.2);
  });
  CHECK(late.find("weft::transport: all_reduce: rank 0 waited ") == 0);
  CHECK(late.find(" s for rank 1; it is slow") != std::string::npos);
  auto const sizes = refusal(2, [](endpoint& door) {
    std::vector<float> data(64);
    running_all_reduce<float> running(door, all_reduce_choice("ring"), door.rank() == 0 ? 64 : 32, 32001);
    running.start(data.data());
    running.wait(10.0);
  });
  CHECK((sizes.find("all ranks must call it with the same sizes") != std::string::npos ||
         sizes.find("where it expected at most") != std::string::npos));
}
