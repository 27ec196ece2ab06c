// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/train/asynchronous_trainer.hpp>
#include <weft/train/measured_speeds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using weft::train::measured_speeds;
using weft::train::pipelines_of;
using weft::train::speeds_of;

TEST_CASE("speeds from seconds: against the fastest, rounded, the slowest of the data ranks") {
  CHECK(speeds_of({2.0, 1.0, 4.0}, pipelines_of(3, 3)) == std::vector<double>{0.5, 1.0, 0.25});
  // Noise of a few per cent moves nothing; nobody is slower than a twentieth.
  CHECK(speeds_of({1.0, 1.02, 0.99}, pipelines_of(3, 3)) == std::vector<double>{1.0, 0.95, 1.0});
  CHECK(speeds_of({1.0, 500.0}, pipelines_of(2, 2)) == std::vector<double>{1.0, 0.05});
  // Two pipelines of two ranks: ranks 0 and 1 are the first of each.
  CHECK(speeds_of({1.0, 2.0, 4.0, 1.0}, pipelines_of(2, 4)) == std::vector<double>{1.0, 0.5});
  auto const why = [](std::vector<double> const& seconds) -> std::string {
    try {
      static_cast<void>(speeds_of(seconds, pipelines_of(2, 2)));
    } catch (weft::error const& found) {
      return found.what();
    }
    return "";
  };
  CHECK(why({1.0, 0.0}).find("weft::measured_speeds: rank 1 took 0.000000 seconds for a block; name speeds") == 0);
  CHECK(why({std::numeric_limits<double>::quiet_NaN(), 1.0}).find("rank 0 took") != std::string::npos);
}

TEST_CASE("measured speeds: every rank hears the same, whatever it measured") {
  std::vector<double> heard[4];
  weft::transport::in_process::run(4, [&](auto& door) {
    heard[door.rank()] = measured_speeds<tiny_training::tiny, float, tiny_training::space>(
        door, pipelines_of(2, 4), {2, tiny_training::length}, 60.0);
  });
  CHECK(heard[0].size() == 2);
  for (auto const& each : heard) CHECK(each == heard[0]);
  CHECK(*std::max_element(heard[0].begin(), heard[0].end()) == 1.0);
  for (double const each : heard[0]) CHECK(each >= 0.05);
}

TEST_CASE("a trainer divides layers by the speeds of its ranks, and no bit of the training knows") {
  using tiny_training::length;
  using tiny_training::sequences;
  using trainer_type = weft::train::trainer<tiny_training::tiny, float, tiny_training::space>;
  std::vector<double> const speeds[] = {{}, {1.0, 1.0}, {1.0, 4.0}, {5.0, 1.0}};
  std::vector<double> losses[4];
  std::vector<int> first(4);
  for (std::size_t index = 0; index < 4; ++index)
    weft::transport::in_process::run(2, [&](auto& door) {
      weft::train::trainer_options options;
      options.extents = {3, length};
      options.deadline = 60.0;
      options.capacities.speeds = speeds[index];
      trainer_type trainer(tiny_training::program_of({.schedule = "1f1b", .ranks = 2}, 2), door, options);
      for (int step = 0; step < 3; ++step) {
        token_source const batch(tiny_training::tiny::vocabulary, sequences, length, static_cast<unsigned>(step));
        double const loss = trainer.step(batch.view(3, static_cast<std::uint64_t>(step))).loss;
        if (door.rank() == 0) losses[index].push_back(loss);
      }
      if (door.rank() == 0) first[index] = trainer.partition()[0].size();
    });
  for (auto const& each : losses) CHECK(each == losses[0]);
  CHECK(first[1] == first[0]);
  CHECK(first[2] < first[0]);
  CHECK(first[3] > first[0]);

  // Ranks that were told different speeds would divide differently: none of them starts.
  std::string text[2];
  try {
    weft::transport::in_process::run(2, [&](auto& door) {
      weft::train::trainer_options options;
      options.extents = {3, length};
      options.deadline = 60.0;
      options.capacities.speeds = {1.0, door.rank() == 0 ? 1.0 : 4.0};
      try {
        trainer_type const trainer(tiny_training::program_of({.schedule = "1f1b", .ranks = 2}, 2), door, options);
      } catch (weft::error const& found) {
        text[door.rank()] = found.what();
        throw;
      }
    });
  } catch (weft::error const&) {
  }
  for (auto const& each : text) {
    CHECK(each.find("weft::transport: the ranks do not agree") == 0);
    CHECK(each.find(" on rank 0 and ") != std::string::npos);
  }
}

TEST_CASE("an asynchronous trainer divides layers by speed and memory") {
  using tiny_training::tiny;
  std::vector<int> sizes[4];
  weft::rank_capacities const given[] = {{}, {.speeds = {1.0, 4.0}}, {.speeds = {5.0, 1.0}}, {.speeds = {1.0, 4.0}}};
  for (std::size_t index = 0; index < 4; ++index)
    weft::transport::in_process::run(2, [&](auto& door) {
      weft::train::trainer_options options;
      options.extents = {7, tiny_training::length};
      options.deadline = 60.0;
      options.capacities = given[index];
      // The last one: not enough for what speed alone would give rank 1.
      if (index == 3) {
        auto const plan = weft::train::pipedream_windows(2);
        auto const program = weft::schedule::make_program(plan.table(1, 4).view(), plan.lowering);
        auto const free = weft::partition_of<tiny>(program.view(), options.extents, given[1]);
        auto const needs = weft::memory_of_rank<tiny>(program.view(), free, options.extents, 1).total();
        options.capacities.memory = {1 << 30, needs - 1};
      }
      weft::train::asynchronous_trainer<tiny, float, tiny_training::space> const trainer(
          weft::train::pipedream_windows(2), door, options);
      if (door.rank() != 0) return;
      for (auto const& range : trainer.partition()) sizes[index].push_back(range.size());
    });
  CHECK(sizes[1][0] < sizes[0][0]);
  CHECK(sizes[2][0] > sizes[0][0]);
  CHECK(sizes[3][0] > sizes[1][0]);
}
