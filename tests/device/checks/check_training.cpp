// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Training on the device: repeatable, the same bits by every schedule, on every number of ranks (threads here) and
// through every transport.
#include "trainers.hpp"

#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/pipedream_2bw.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/train/state.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/staged.hpp>

#include <support/token_source.hpp>

#include <doctest/doctest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

using device_checks::gpt2;
using device_checks::space;

constexpr int steps = 5;  // of which, with two versions of the weights, the last one replays calls alone
constexpr int micro_batches = 3;
constexpr int sequences = 7;  // does not divide by the micro-batches

template <class Real>
struct outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, std::vector<Real>> state;
  friend bool operator==(outcome const&, outcome const&) = default;
};

weft::train::trainer_options options(bool captures) {
  weft::train::trainer_options result;
  result.extents = {(sequences + micro_batches - 1) / micro_batches, gpt2::positions};
  result.learning_rate = {1e-2, 2, 8, 0.1};
  result.seed = 5;
  result.dropout = 0.1;
  result.deadline = 120.0;
  result.capture = captures;
  return result;
}

enum class way { plain, staged, captured };

template <class Schedule, class Real = float>
outcome<Real> train(int ranks, way how = way::plain, int data_ranks = 1) {
  outcome<Real> result;
  weft::transport::in_process::run(ranks * data_ranks, [&](auto& inner) {
    // chunks so small that every message is cut
    weft::transport::staged<1024, weft::transport::kokkos_copies<space>> staged(inner);
    weft::transport::endpoint& door = how == way::staged ? static_cast<weft::transport::endpoint&>(staged) : inner;
    weft::train::trainer<gpt2, Real, space> trainer(
        weft::schedule::make_program<Schedule>(ranks, micro_batches, {.reduce_over_data = data_ranks > 1}), door,
        options(how == way::captured));
    for (int step = 0; step < steps; ++step) {
      // two batches in turn: the first and the last step's losses are of the same tokens
      token_source const batch(gpt2::vocabulary, sequences, gpt2::positions, static_cast<unsigned>(step % 2));
      auto const done = trainer.step(batch.view(micro_batches, static_cast<std::uint64_t>(step)));
      if (door.rank() != 0) continue;
      result.losses.push_back(done.loss);
      result.norms.push_back(done.gradient_norm);
    }
    std::map<std::string, std::vector<Real>> state;
    weft::train::collect_state(trainer, true,
                               [&](char const* kind, auto const& parameter, std::span<Real const> values) {
                                 state[std::string(kind) + parameter.name].assign(values.begin(), values.end());
                               });
    if (door.rank() == 0) result.state = std::move(state);
  });
  return result;
}

}  // namespace

TEST_CASE("device training: repeatable, by every schedule and on every number of ranks the same bits") {
  auto const serial = train<weft::schedule::serial>(1);
  REQUIRE(serial.losses.size() == steps);
  CHECK(serial.losses.back() < serial.losses.front());
  CHECK(serial.state.size() > 30);
  CHECK(train<weft::schedule::serial>(1) == serial);
  CHECK(train<weft::schedule::one_f_one_b>(2) == serial);
  CHECK(train<weft::schedule::zero_bubble_h1>(3) == serial);
  CHECK(train<weft::schedule::gpipe>(2) == serial);
}

TEST_CASE("device training: staged messages carry the same bits") {
  CHECK(train<weft::schedule::one_f_one_b>(2, way::staged) == train<weft::schedule::one_f_one_b>(2));
}

TEST_CASE("device training: gradients that are summed on the device have the bits of those that the host sums") {
  auto const mirrored = train<weft::schedule::serial>(1, way::plain, 2);
  CHECK(train<weft::schedule::serial>(1, way::staged, 2) == mirrored);
  CHECK(train<weft::schedule::one_f_one_b>(2, way::staged, 3) == train<weft::schedule::serial>(1, way::plain, 3));
}

TEST_CASE("device training: recorded and replayed calls have the bits of calls that run") {
  auto const plain = train<weft::schedule::serial>(1);
  CHECK(train<weft::schedule::serial>(1, way::captured) == plain);
  CHECK(train<weft::schedule::one_f_one_b>(2, way::captured) == plain);
  CHECK(train<weft::schedule::zero_bubble_h1>(3, way::captured) == plain);
}

TEST_CASE("device training: in double") {
  auto const serial = train<weft::schedule::serial, double>(1);
  CHECK(serial.losses[0] == doctest::Approx(train<weft::schedule::serial>(1).losses[0]).epsilon(1e-5));
  CHECK(train<weft::schedule::zero_bubble_h1, double>(2) == serial);
}
