// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/plan/memory.hpp>
#include <weft/plan/plan.hpp>
#include <weft/schedule/chimera.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace tiny_training;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

/// A run of two copies in each of `data_ranks` pipelines: `micro_batches` of each pipeline, half of them each way.
plan two_way(std::string const& schedule, int ranks, int micro_batches, int data_ranks = 1) {
  return {.schedule = schedule, .ranks = ranks, .micro_batches = micro_batches, .data_ranks = data_ranks};
}

/// The plan of one rank that keeps as many groups of gradients apart as there are copies in all pipelines.
plan grouped(plan how) {
  how.gradient_groups = 2 * how.data_ranks;
  how.micro_batches /= 2;
  how.schedule = "serial";
  how.ranks = how.data_ranks = 1;
  how.partition.clear();
  how.recompute = false;
  how.evaluate_every = 0;
  return how;
}
template <class Model = tiny, class Real = float>
outcome_of<Real> emulated(plan const& how) {
  return run<Model, Real>(grouped(how));
}

int least_micro_batches(std::string const& schedule, int ranks) { return schedule == "dualpipe" ? 2 * ranks : ranks; }

template <class Real = float>
using trainer_of_tiny = weft::train::trainer<tiny, Real, space>;

weft::schedule::program two_way_program(std::string const& schedule, int ranks, int micro_batches) {
  return weft::schedule::make_program(schedule, ranks, micro_batches, {.reduce_over_copies = true});
}

/// What making a trainer on `ranks` ranks says.
std::string refusal(int ranks, weft::schedule::program (*make)(), int gradient_groups = 1) {
  try {
    in_process::run(ranks, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      options.gradient_groups = gradient_groups;
      trainer_of_tiny<> const trainer(make(), door, options);
    });
  } catch (weft::error const& failure) {
    return failure.what();
  }
  return "no error";
}

/// Copy 1 is one rank further on.
struct in_a_circle {
  static constexpr int copies = 2;
  static constexpr int rank_of(int stage, int copy, int ranks) { return (stage + copy) % ranks; }
};

}  // namespace

TEST_CASE("two copies: losses, norms, weights and moments are those of a serial run with a group for each copy") {
  for (std::string const schedule : {"chimera", "dualpipe"})
    for (int const ranks : {2, 4, 6}) {
      CAPTURE(schedule);
      CAPTURE(ranks);
      auto const how = two_way(schedule, ranks, least_micro_batches(schedule, ranks));
      auto const serial = emulated(how);
      CHECK(serial.losses[4] < serial.losses[0]);
      CHECK(run(how) == serial);
    }
  // More micro-batches, and fewer, than ranks.
  for (int const micro_batches : {2, 6, 10}) {
    auto const how = two_way("chimera", 4, micro_batches);
    CHECK(run(how) == emulated(how));
  }
}

TEST_CASE("two copies: in several pipelines, one sum over all of them, whatever its order of additions") {
  for (std::string const reduction : {"ring", "recursive-doubling", "recursive-halving", "tree", "hierarchical"}) {
    CAPTURE(reduction);
    plan how = two_way("chimera", 2, 4, 2);
    how.reduction = reduction;
    how.ignore_unevenly = true;
    CHECK(run(how) == emulated(how));
  }
  for (int const data_ranks : {2, 3})
    for (std::string const schedule : {"chimera", "dualpipe"}) {
      CAPTURE(schedule);
      CAPTURE(data_ranks);
      // 7 sequences: groups of 2, 2, 2 and 1, or five of 1 and one of 2.
      plan const how = two_way(schedule, 2, 4, data_ranks);
      CHECK(run(how) == emulated(how));
    }
  plan const wide = two_way("dualpipe", 4, 8, 2);
  CHECK(run(wide) == emulated(wide));
}

TEST_CASE("two copies: recompute, evaluation, dropout and the cut of layers change no bit") {
  plan how = two_way("dualpipe", 4, 8);
  how.dropout = 0.2;
  how.ignore_unevenly = true;
  auto const serial = emulated(how);
  how.recompute = true;
  CHECK(run(how) == serial);
  how.evaluate_every = 1;
  how.partition = {{0, 1}, {1, 1}, {1, 6}, {6, 7}};
  CHECK(run(how) == serial);
  how.schedule = "chimera";
  CHECK(run(how) == serial);
  how.recompute = false;
  how.ranks = 2;
  how.partition = {{0, 5}, {5, 7}};
  CHECK(run(how) == serial);
}

TEST_CASE("two copies: in double, and of the architecture whose tables are not tied") {
  plan const how = two_way("dualpipe", 2, 6);
  CHECK((run<tiny, double>(how)) == (emulated<tiny, double>(how)));
  for (int const ranks : {2, 4}) {
    plan const llama = two_way("chimera", ranks, 4, ranks == 2 ? 2 : 1);
    CHECK(run<tiny_llama>(llama) == emulated<tiny_llama>(llama));
  }
}

TEST_CASE("two copies: the first step is the ungrouped one, but for the order of additions") {
  auto const ungrouped = run({.ignore_unevenly = true}, 1);
  for (std::string const schedule : {"chimera", "dualpipe"}) {
    plan how = two_way(schedule, 2, 4);
    how.ignore_unevenly = true;
    auto const done = run(how, 1);
    CHECK(std::abs(done.losses[0] - ungrouped.losses[0]) < 1e-5 * ungrouped.losses[0]);
    CHECK(std::abs(done.norms[0] - ungrouped.norms[0]) < 1e-5 * ungrouped.norms[0]);
  }
}

TEST_CASE("two copies: saved under two copies, resumed under one, and the other way round") {
  plan how = two_way("dualpipe", 4, 8);
  auto const whole = run(how);
  how.switch_at = 2;
  how.then = {grouped(how)};
  CHECK(run(how) == whole);
  plan back = how.then.front();
  back.switch_at = 3;
  back.then = {two_way("chimera", 2, 8)};
  CHECK(run(back) == whole);
}

TEST_CASE("two copies: evaluation and logits are those of one copy, and count nothing twice") {
  std::map<int, double> losses;
  std::map<int, std::vector<float>> logits;
  for (int const ranks : {1, 2, 4})
    in_process::run(ranks, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {2, length};
      trainer_of_tiny<> trainer(
          ranks == 1 ? weft::schedule::make_program("serial", 1, 4) : two_way_program("chimera", ranks, 4), door,
          options);
      token_source const batch(tiny::vocabulary, sequences, length, 4);
      double const loss = trainer.evaluate(batch.view(4, 0));
      token_source const one(tiny::vocabulary, 1, length, 4);
      auto const row = trainer.logits(one.view(1, 0), 3);
      if (door.rank() == 0) {
        losses[ranks] = loss;
        logits[ranks] = row;
      }
    });
  CHECK(losses.at(1) > 1.0);
  CHECK(losses.at(2) == losses.at(1));
  CHECK(losses.at(4) == losses.at(1));
  CHECK(logits.at(2) == logits.at(1));
  CHECK(logits.at(4) == logits.at(1));
}

TEST_CASE("two copies: one that differs in a bit is found, by name") {
  std::string message;
  try {
    in_process::run(4, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {2, length};
      options.compare_replicas_every = 2;
      trainer_of_tiny<> trainer(two_way_program("chimera", 4, 4), door, options);
      token_source const batch(tiny::vocabulary, sequences, length, 0);
      trainer.step(batch.view(4, 0));
      if (door.rank() == 3)  // stage 0 of copy 1
        for (auto const& each : trainer.stage().store().entries())
          if (each.descriptor.name == "transformer.wpe.weight") {
            auto const value = trainer.stage().store().first_moment(each);
            value(5) = std::nextafter(value(5), 1.0F);
          }
      trainer.step(batch.view(4, 1));
      trainer.step(batch.view(4, 2));
    });
  } catch (weft::error const& failure) {
    message = failure.what();
  }
  INFO(message);
  CHECK(message.find("after step 2 transformer.wpe.weight") != std::string::npos);
  CHECK(message.find("differs between rank 0 and rank 3") != std::string::npos);
}

TEST_CASE("two copies: a number that is not finite on one of them skips the step on both") {
  in_process::run(2, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {2, length};
    options.compare_replicas_every = 0;
    trainer_of_tiny<> trainer(two_way_program("chimera", 2, 4), door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 0);
    if (door.rank() == 1)  // copy 1's stage 0
      for (auto const& each : trainer.stage().store().entries())
        if (each.descriptor.name == "transformer.wpe.weight")
          trainer.stage().store().value(each)(3) = std::numeric_limits<float>::infinity();
    CHECK(trainer.step(batch.view(4, 0)).is_skipped);
    CHECK(trainer.optimizer_steps() == 0);
  });
}

TEST_CASE("two copies: a plan counts the memory of both") {
  in_process::run(4, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {2, length};
    trainer_of_tiny<> trainer(two_way_program("dualpipe", 4, 8), door, options);
    auto const layers = weft::partition_of<tiny>(4, options.extents);
    auto const needs = weft::memory_of_rank<tiny>(trainer.program(), layers, options.extents, door.rank());
    std::int64_t numbers = 0;
    std::int64_t own = 0;  // the table of embedding and head, of one copy each, is kept once
    for (auto const& each : trainer.stage().store().entries()) {
      numbers += each.elements;
      if (each.owner < 0) own += each.elements;
    }
    CHECK((own < numbers) == (door.rank() == 0 || door.rank() == 3));
    CHECK(needs.parameters == 2 * 4 * own);
    CHECK(needs.gradients == 4 * numbers);
    CHECK(needs.optimizer == 4 * 4 * own);
    auto const buffers = static_cast<std::int64_t>(trainer.stage().model().buffer_bytes());
    CHECK(needs.activations + needs.weight_contexts + needs.workspace >= buffers);
    CHECK(needs.activations < 2 * buffers);
    auto const moved = static_cast<std::int64_t>(trainer.engine_of_training().wire_bytes() +
                                                 trainer.stage().reduction_bytes() + trainer.stage().tied_bytes());
    CHECK(moved <= needs.wire);
    CHECK(needs.wire < 2 * moved);
  });
}

TEST_CASE("two copies: a plan of a two-way schedule is trained as it is named") {
  using two = weft::plan<weft::schedule::chimera, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
  static_assert(two::view().work.reduces_over_copies);
  in_process::run(2, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {2, length};
    trainer_of_tiny<> trainer(two{}, door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 0);
    double const first = trainer.step(batch.view(4, 0)).loss;
    CHECK(trainer.step(batch.view(4, 0)).loss < first);
  });
}

TEST_CASE("two copies: what cannot be trained is refused with what can") {
  using weft::schedule::make_program;
  CHECK(refusal(2, [] { return make_program("chimera", 2, 4); }).find("lower it with reduce_over_copies") !=
        std::string::npos);
  CHECK(refusal(
            2, [] { return two_way_program("chimera", 2, 4); }, 2)
            .find("leave gradient_groups at 1") != std::string::npos);
  // Both copies of stage 1 on rank 1.
  auto const odd = [] {
    return make_program(
        weft::schedule::read_csv("0F0,2F1,2B1,0B0\n1F0,1F1,1B1,1B0\n2F0,2B0,0F1,0B1\n", {.copies = 2}).view(),
        {.reduce_over_copies = true});
  };
  CHECK(refusal(3, odd).find("weft::trainer: rank 1 holds copies 0 and 1 of stage 1; place copies on two ranks") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(weft::compile_row(odd().view(), 0),
                       doctest::Contains("weft::pipeline: rank 1 holds copies 0 and 1 of stage 1, which it could not"),
                       weft::error);
  // Rank 0 shares stage 0 with rank 1, and stage 2 with rank 2.
  auto const round = weft::topology::stage_graph::chain(3).place(in_a_circle{}, 3);
  in_process::run(3, [&](endpoint& door) {
    CHECK_THROWS_WITH_AS(weft::train::replica(door, weft::train::pipelines_of(3, 3), false, round.view()),
                         doctest::Contains("hold copies of stage 0, but only one of them holds stage"), weft::error);
  });
}

TEST_CASE("replay: a program that adds gradients in another order has the bits of one rank that adds in that order") {
  std::string const down = "0F0,0F1,0F2,0B2,0B1,0B0\n1F0,1F1,1F2,1B2,1B1,1B0\n";
  std::string const mixed = "0F0,0F1,0F2,0I1,0I0,0I2,0W1,0W2,0W0\n1F0,1F1,1F2,1B2,1B0,1B1\n";
  auto const ascending = run({.micro_batches = 3});
  for (std::string const& table : {down, mixed}) {
    auto const verdict = weft::schedule::play(weft::schedule::read_csv(table).view());
    REQUIRE(verdict.playable());
    CHECK(verdict.order != weft::schedule::accumulation::ascending);
    plan how{.ranks = 2, .micro_batches = 3, .dropout = 0.1, .table = table};
    auto const parallel = run(how);
    how.ranks = 1;
    how.replay = 2;
    CHECK(run(how) == parallel);
    CHECK(parallel.losses != ascending.losses);
  }
  // By name, with two stages on each rank, and with recompute on the one and not on the other.
  plan how{.schedule = "loopedbfs", .ranks = 2, .micro_batches = 4, .recompute = true};
  auto const looped = run(how);
  how.ranks = 1;
  how.replay = 2;
  how.recompute = false;
  CHECK(run(how) == looped);
  // In ascending order it is the serial run's.
  CHECK(run({.schedule = "1f1b", .micro_batches = 3, .replay = 4}) == ascending);
  // Of two copies, with their groups.
  auto const both = run(two_way("dualpipe", 2, 4));
  CHECK(run({.schedule = "dualpipe", .micro_batches = 2, .gradient_groups = 2, .replay = 2}) == both);
}
