// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/execution/reduced.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace tiny_training;
using weft::bf16_mixed;

TEST_CASE(
    "precision: bf16 has the same bits under every schedule, on 1 to 4 ranks, with recompute and after a resume") {
  auto const serial = run<tiny, bf16_mixed>({});
  REQUIRE(serial.losses.size() == 5);
  CHECK(serial.losses[4] < serial.losses[0]);
  for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks = 2; ranks <= 4; ++ranks) {
      CAPTURE(schedule);
      CAPTURE(ranks);
      CHECK(run<tiny, bf16_mixed>({.schedule = schedule, .ranks = ranks, .recompute = ranks == 3}) == serial);
    }
  CHECK(run<tiny, bf16_mixed>({.switch_at = 2, .then = {{.schedule = "zb-h1", .ranks = 3}}}) == serial);
  CHECK(run<tiny, bf16_mixed>({.ranks = 1, .evaluate_every = 1}) == serial);
}

TEST_CASE("precision: two data ranks have the bits of two groups of gradients in bf16") {
  CHECK(run<tiny, bf16_mixed>({.schedule = "1f1b", .ranks = 2, .micro_batches = 2, .data_ranks = 2}) ==
        run<tiny, bf16_mixed>({.micro_batches = 2, .gradient_groups = 2}));
}

TEST_CASE("precision: master weights are what is saved") {
  auto const found = run<tiny, bf16_mixed>({});
  int fine = 0;  // numbers that bf16 could not hold
  int all = 0;
  for (auto const& [name, values] : found.state)
    if (name.rfind("value", 0) == 0)
      for (float const each : values) {
        fine += static_cast<float>(weft::bfloat16(each)) != each;
        ++all;
      }
  CHECK(fine > all / 2);
}

TEST_CASE_TEMPLATE("precision: thirty steps stay close to float", Real, bf16_mixed, weft::fp16_mixed) {
  auto const wide = run<tiny>({}, 30);
  auto const narrow = run<tiny, Real>({.schedule = "1f1b", .ranks = 2}, 30);
  double largest = 0.0;
  for (std::size_t step = 0; step < 30; ++step)
    largest = std::max(largest, std::abs(narrow.losses[step] - wide.losses[step]) / wide.losses[step]);
  MESSAGE("largest relative distance of a loss: ", largest);
  CHECK(narrow.losses[29] < 0.9 * narrow.losses[0]);
  CHECK(largest < (std::is_same_v<Real, bf16_mixed> ? 0.005 : 0.001));
}

TEST_CASE("precision: a fixed loss scale changes no bit of a run in float") {
  CHECK(run<tiny>({.schedule = "1f1b", .ranks = 2, .scaling = weft::train::loss_scaling::fixed(1024.0)}) ==
        run<tiny>({}));
}

TEST_CASE("precision: ranks that differ in it are refused by name") {
  std::string message;
  auto const program = [] { return weft::schedule::make_program("1f1b", 2, 3); };
  try {
    weft::transport::in_process::run(2, [&](auto& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      options.deadline = 20.0;
      if (door.rank() == 0)
        weft::train::trainer<tiny, float, space> trainer(program(), door, options);
      else
        weft::train::trainer<tiny, bf16_mixed, space> trainer(program(), door, options);
    });
  } catch (weft::agreed_error const& failure) {
    message = failure.what();
  }
  CAPTURE(message);
  CHECK(message.find("precision is \"f32\" on rank 0 and \"weights f32, compute bf16, wire bf16\" on rank 1") !=
        std::string::npos);
}
