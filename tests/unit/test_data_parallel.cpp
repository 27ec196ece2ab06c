// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace tiny_training;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

/// What the same grouping gives on one rank.
template <class Model = tiny>
outcome emulated(plan how, int groups) {
  how.schedule = "serial";
  how.ranks = 1;
  how.data_ranks = 1;
  how.gradient_groups = groups;
  how.partition.clear();
  how.recompute = false;
  return run<Model>(how);
}

struct neighbourly {  // everybody adds what its neighbour had: right for two ranks, a loss for three
  static constexpr char const* name = "neighbourly";
  static weft::collective::step_list all_reduce(int ranks) {
    using weft::collective::step;
    weft::collective::step_list list{ranks, 1, ranks > 1 ? 1 : 0, weft::detail::buffer<step>(ranks > 1 ? ranks : 0)};
    for (int rank = 0; ranks > 1 && rank < ranks; ++rank)
      list.steps[rank] = step{0, rank, (rank + 1) % ranks, 0, weft::collective::arrival::add};
    return list;
  }
};

std::string message_of(int ranks, plan const& how) {
  try {
    in_process::run(ranks, [&](endpoint& door) {
      outcome result;
      train(door, how, 0, 1, result);
    });
  } catch (weft::error const& failure) {
    return failure.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("data parallel: losses, norms, weights and moments are those of a serial run with the same groups") {
  for (std::string const reduction : {"ring", "recursive-doubling", "recursive-halving", "tree", "hierarchical"})
    for (int const data_ranks : {2, 3}) {
      CAPTURE(reduction);
      CAPTURE(data_ranks);
      plan how{.micro_batches = 2, .data_ranks = data_ranks, .reduction = reduction};
      auto const serial = emulated(how, data_ranks);
      CHECK(serial.losses[4] < serial.losses[0]);
      for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"}) {
        CAPTURE(schedule);
        how.schedule = schedule;
        how.ranks = 2;
        CHECK(run(how) == serial);
      }
      how.schedule = "serial";
      how.ranks = 1;
      CHECK(run(how) == serial);
    }
}

TEST_CASE("data parallel: no cut of layers into stages changes a bit, recompute, evaluation and dropout neither") {
  plan how{.schedule = "1f1b", .micro_batches = 2, .dropout = 0.2, .data_ranks = 3};
  auto const serial = emulated(how, 3);
  for (int const ranks : {1, 2, 3, 4}) {
    how.ranks = ranks;
    CHECK(run(how) == serial);
  }
  how.recompute = true;
  how.evaluate_every = 1;
  CHECK(run(how) == serial);
  how.ranks = 3;
  how.partition = {{0, 1}, {1, 1}, {1, 7}};
  how.schedule = "zb-h1";
  CHECK(run(how) == serial);
  // The emulation itself may be a pipeline.
  CHECK(run({.schedule = "1f1b", .ranks = 3, .micro_batches = 2, .dropout = 0.2, .gradient_groups = 3}) == serial);
}

TEST_CASE("data parallel: parts of a batch may differ in sequences and in counted tokens") {
  // 7 sequences: 4 and 3, or 3, 2 and 2, or one each and a rank without any.
  for (int const data_ranks : {2, 3, 8}) {
    CAPTURE(data_ranks);
    plan how{.schedule = "1f1b", .ranks = 2, .micro_batches = 2, .data_ranks = data_ranks, .ignore_unevenly = true};
    CHECK(run(how) == emulated(how, data_ranks));
  }
}

TEST_CASE("data parallel: the first step is the ungrouped one, but for the order of additions") {
  auto const ungrouped = run({.ignore_unevenly = true});
  for (int const data_ranks : {2, 3}) {
    auto const grouped = run({.data_ranks = data_ranks, .ignore_unevenly = true});
    CHECK(std::abs(grouped.losses[0] - ungrouped.losses[0]) < 1e-5 * ungrouped.losses[0]);
    CHECK(std::abs(grouped.norms[0] - ungrouped.norms[0]) < 1e-5 * ungrouped.norms[0]);
  }
}

TEST_CASE("data parallel: the second architecture, whose tables are not tied") {
  for (int const data_ranks : {2, 3}) {
    plan how{.micro_batches = 2, .data_ranks = data_ranks, .reduction = "recursive-halving"};
    auto const serial = emulated<tiny_llama>(how, data_ranks);
    for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"})
      for (int const ranks : {2, 3}) {
        how.schedule = schedule;
        how.ranks = ranks;
        CHECK(run<tiny_llama>(how) == serial);
      }
  }
}

TEST_CASE("data parallel: it does not matter which rank a sequence falls to") {
  struct seen {
    double loss = 0.0;
    double norm = 0.0;
  };
  auto const first_step = [](int data_ranks, bool reversed) {
    seen result;
    in_process::run(2 * data_ranks, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      weft::train::trainer<tiny, double, space> trainer(
          weft::schedule::make_program("1f1b", 2, 2, {.reduce_over_data = data_ranks > 1}), door, options);
      token_source batch(tiny::vocabulary, sequences, length, 3);
      batch.ignore_unevenly();
      if (reversed) batch.reverse_sequences();
      auto const done = trainer.step(batch.view(2, 0));
      if (door.rank() == 0) result = {done.loss, done.gradient_norm};
    });
    return result;
  };
  auto const one = first_step(1, false);
  for (int const data_ranks : {1, 2, 3})
    for (bool const reversed : {false, true}) {
      auto const here = first_step(data_ranks, reversed);
      CHECK(std::abs(here.loss - one.loss) < 1e-9 * one.loss);
      CHECK(std::abs(here.norm - one.norm) < 1e-9 * one.norm);
    }
}

TEST_CASE("data parallel: saved on some data ranks, resumed on others or on groups") {
  plan how{.schedule = "1f1b", .ranks = 2, .micro_batches = 2, .data_ranks = 3};
  auto const whole = run(how);
  how.switch_at = 2;
  how.then = {{.schedule = "serial", .micro_batches = 2, .gradient_groups = 3}};
  CHECK(run(how) == whole);
  plan back = how.then.front();
  back.switch_at = 3;
  back.then = {{.schedule = "zb-h1", .ranks = 3, .micro_batches = 2, .data_ranks = 3}};
  CHECK(run(back) == whole);
}

TEST_CASE("data parallel: evaluation is shared out, and its loss is that of one pipeline") {
  std::map<int, double> losses;
  for (int const data_ranks : {1, 2, 3, 5})
    in_process::run(2 * data_ranks, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {2, length};
      weft::train::trainer<tiny, float, space> trainer(
          weft::schedule::make_program("1f1b", 2, 2, {.reduce_over_data = data_ranks > 1}), door, options);
      token_source const batch(tiny::vocabulary, sequences, length, 4);
      double const loss = trainer.evaluate(batch.view(4, 0));
      if (door.rank() == door.size() - 1) losses[data_ranks] = loss;
      token_source const one(tiny::vocabulary, 1, length, 4);
      CHECK(trainer.logits(one.view(1, 0), 3).size() == static_cast<std::size_t>(tiny::vocabulary));
    });
  CHECK(losses.at(1) > 1.0);
  for (auto const& [data_ranks, loss] : losses) CHECK(loss == losses.at(1));
}

TEST_CASE("data parallel: replicas that differ in one bit are found, by name") {
  std::string message;
  try {
    in_process::run(4, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {2, length};
      options.compare_replicas_every = 2;
      weft::train::trainer<tiny, float, space> trainer(
          weft::schedule::make_program("1f1b", 2, 2, {.reduce_over_data = true}), door, options);
      token_source const batch(tiny::vocabulary, sequences, length, 0);
      trainer.step(batch.view(2, 0));
      if (door.rank() == 2)  // pipeline rank 1 of the first replica
        for (auto const& each : trainer.stage().store().entries())
          if (each.descriptor.name == "transformer.h.3.mlp.c_fc.weight") {
            auto const value = trainer.stage().store().second_moment(each);
            value(5) = std::nextafter(value(5), 1.0F);
          }
      trainer.step(batch.view(2, 1));
      trainer.step(batch.view(2, 2));
    });
  } catch (weft::error const& failure) {
    message = failure.what();
  }
  INFO(message);
  CHECK(message.find("after step 2 transformer.h.3.mlp.c_fc.weight differs between rank 2 and rank 3") !=
        std::string::npos);
}

TEST_CASE("data parallel: a number that is not finite in one replica skips the step in all") {
  in_process::run(4, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {2, length};
    options.compare_replicas_every = 0;
    weft::train::trainer<tiny, float, space> trainer(
        weft::schedule::make_program("1f1b", 2, 2, {.reduce_over_data = true}), door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 0);
    if (door.rank() == 0)
      for (auto const& each : trainer.stage().store().entries())
        if (each.descriptor.name == "transformer.wpe.weight")
          trainer.stage().store().value(each)(3) = std::numeric_limits<float>::infinity();
    CHECK(trainer.step(batch.view(2, 0)).is_skipped);
    CHECK(trainer.optimizer_steps() == 0);
  });
}

TEST_CASE("data parallel: what a plan counts for the sums is enough, and not twice as much") {
  in_process::run(4, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {2, length};
    weft::train::trainer<tiny, float, space> trainer(
        weft::schedule::make_program("1f1b", 2, 2, {.reduce_over_data = true}), door, options);
    auto const layers = weft::partition_of<tiny>(2, options.extents);
    int const rank = trainer.ranks().pipeline().rank();
    auto const with = weft::memory_of_rank<tiny>(trainer.program(), layers, options.extents, rank);
    auto const alone = weft::schedule::make_program("1f1b", 2, 2);
    auto const without = weft::memory_of_rank<tiny>(alone.view(), layers, options.extents, rank);
    auto const counted = with.total() - without.total();
    auto const held = static_cast<std::int64_t>(trainer.stage().reduction_bytes());
    CHECK(held > 0);
    CHECK(held <= counted);
    CHECK(counted < 3 * held);  // two ranks add halves of a buffer
  });
}

TEST_CASE("data parallel: a policy of one's own is held to the rules at start-up, too") {
  auto const message = [](int ranks) {
    try {
      in_process::run(ranks, [&](endpoint& door) {
        weft::train::trainer_options options;
        options.extents = {2, length};
        options.reduction = weft::collective::all_reduce_choice::of<neighbourly>();
        weft::train::trainer<tiny, float, space> trainer(
            weft::schedule::make_program("serial", 1, 2, {.reduce_over_data = true}), door, options);
        token_source const batch(tiny::vocabulary, sequences, length, 0);
        trainer.step(batch.view(2, 0));
      });
    } catch (weft::error const& failure) {
      return std::string(failure.what());
    }
    return std::string("no error");
  };
  CHECK(message(2) == "no error");
  CHECK(message(3).find("the all-reduce \"neighbourly\" is wrong for 3 ranks: weft::collective: chunk 0 on rank 0: the "
                        "part of rank 1 never arrives") != std::string::npos);
}

TEST_CASE("data parallel: more parameters to sum than there are tags for sums") {
  // One layer of 600 scalars, every other one frozen: 600 buckets share 512 tags.
  using store = weft::parameters::parameter_store<float, space>;
  std::vector<weft::parameters::parameter_descriptor> many;
  for (int index = 0; index < 1200; ++index) {
    weft::parameters::parameter_descriptor each;
    each.name = "p" + std::to_string(index);
    each.frozen = index % 2 == 1;
    many.push_back(each);
  }
  in_process::run(3, [&](endpoint& door) {
    store values;
    values.add_stage(0, many);
    auto const& entries = values.entries();
    for (std::size_t index = 0; index < entries.size(); ++index)
      values.gradient(entries[index])(0) = static_cast<float>(1000 * door.rank()) + static_cast<float>(index);
    weft::train::gradient_reduction<store, space> sum(values, std::vector<int>(entries.size(), 0), {&door}, {}, 30.0);
    CHECK(sum.buckets() == 600);
    sum.start(door, space(), 0);
    sum.finish(door, space());
    int wrong = 0;
    for (std::size_t index = 0; index < entries.size(); index += 2)
      wrong += values.gradient(entries[index])(0) != 3000.0F + 3.0F * static_cast<float>(index);
    CHECK(wrong == 0);
  });
}

TEST_CASE("data parallel: what does not go together is refused with what would") {
  CHECK(message_of(4, {.schedule = "1f1b", .data_ranks = 2}) == "no error");
  in_process::run(1, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {sequences, length};
    weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("serial", 1, 1), door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 4);
    CHECK_THROWS_WITH_AS(trainer.evaluate(batch.view(0, 0)), doctest::Contains("cut into 0 micro-batches; name at"),
                         weft::error);
  });
  CHECK(message_of(5, {.schedule = "1f1b", .data_ranks = 2}).find("5 ranks are no multiple of that; start 6") !=
        std::string::npos);
  CHECK(message_of(2, {.data_ranks = 2, .gradient_groups = 2}).find("2 gradient groups for") != std::string::npos);
  CHECK(message_of(2, {.data_ranks = 2, .reduction = "butterfly"}).find("recursive-halving") != std::string::npos);
  CHECK(message_of(2, {.data_ranks = 2, .reduction = "mpi"}).find("has no library of collectives") !=
        std::string::npos);
  CHECK(message_of(1, {.gradient_groups = 2, .reduction = "mpi"}).find("has no step list") != std::string::npos);
}
