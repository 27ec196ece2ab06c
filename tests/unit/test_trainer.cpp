// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/host_library.hpp"
#include "support/sweep.hpp"
#include "support/tiny_training.hpp"

#include <weft/transport/library_door.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

using namespace tiny_training;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

// Large enough that padding does not matter.
using wide =
    weft::model::gpt2<weft::model::gpt_size{.vocabulary = 64, .positions = 64, .width = 64, .heads = 4, .blocks = 4}>;
using wide_llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 64, .positions = 64, .width = 64, .heads = 4, .kv_heads = 1, .hidden = 160, .blocks = 4}>;

}  // namespace

TEST_CASE_TEMPLATE("trainer: losses, norms, weights and moments are the serial run's, bit for bit", Model, tiny,
                   tiny_llama) {
  weft_test::sweep some(5);
  auto const serial = run<Model>({});
  REQUIRE(serial.losses.size() == 5);
  CHECK(serial.losses[4] < serial.losses[0]);
  for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (bool const recompute : {false, true}) {
        if (some.skips()) continue;
        CAPTURE(schedule);
        CAPTURE(ranks);
        CAPTURE(recompute);
        CHECK(run<Model>({.schedule = schedule, .ranks = ranks, .recompute = recompute}) == serial);
      }
  CHECK(run<Model>({.recompute = true}) == serial);
}

TEST_CASE_TEMPLATE("trainer: fewer micro-batches than ranks", Model, tiny, tiny_llama) {
  for (int const micro_batches : {1, 2}) {
    auto const serial = run<Model>({.micro_batches = micro_batches});
    for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"})
      CHECK(run<Model>({.schedule = schedule, .ranks = 4, .micro_batches = micro_batches}) == serial);
  }
}

TEST_CASE("trainer: I and W apart, with more micro-batches than ranks, and one sequence each") {
  for (int const micro_batches : {5, 7}) {
    auto const serial = run({.micro_batches = micro_batches});
    for (int ranks = 2; ranks <= 4; ++ranks)
      CHECK(run({.schedule = "zb-h1", .ranks = ranks, .micro_batches = micro_batches}) == serial);
    CHECK(run({.schedule = "zb-h1", .ranks = 3, .micro_batches = micro_batches, .recompute = true}) == serial);
  }
}

TEST_CASE_TEMPLATE("trainer: any partition gives the same bits, empty stages too", Model, tiny, tiny_llama) {
  auto const serial = run<Model>({});
  using ranges = std::vector<weft::topology::layer_range>;
  for (ranges const& partition : {ranges{{0, 1}, {1, 7}}, ranges{{0, 6}, {6, 7}}, ranges{{0, 1}, {1, 1}, {1, 7}},
                                  ranges{{0, 3}, {3, 3}, {3, 3}, {3, 7}}, ranges{{0, 2}, {2, 5}, {5, 7}}})
    for (std::string const schedule : {"1f1b", "zb-h1"})
      CHECK(run<Model>({.schedule = schedule, .ranks = static_cast<int>(partition.size()), .partition = partition}) ==
            serial);
}

TEST_CASE_TEMPLATE("trainer: evaluation disturbs nothing", Model, tiny, tiny_llama) {
  CHECK(run<Model>({.schedule = "1f1b", .ranks = 3, .evaluate_every = 1}) == run<Model>({}));
  CHECK(run<Model>({.evaluate_every = 2}) == run<Model>({}));
}

TEST_CASE("trainer: dropout draws the same numbers in every split, in recompute too") {
  auto const serial = run({.dropout = 0.2});
  CHECK(serial.losses != run({}).losses);
  CHECK(run({.schedule = "1f1b", .ranks = 3, .dropout = 0.2}) == serial);
  CHECK(run({.schedule = "gpipe", .ranks = 2, .recompute = true, .dropout = 0.2}) == serial);
  CHECK(run({.schedule = "zb-h1", .ranks = 3, .dropout = 0.2}) == serial);
  CHECK(run({.schedule = "zb-h1", .ranks = 4, .recompute = true, .dropout = 0.2}) == serial);
}

TEST_CASE_TEMPLATE("trainer: saved on some ranks, resumed on others, equals the uninterrupted run", Model, tiny,
                   tiny_llama) {
  auto const serial = run<Model>({});
  plan const two{.schedule = "gpipe", .ranks = 2};
  CHECK(run<Model>({.schedule = "1f1b", .ranks = 4, .switch_at = 2, .then = {two}}) == serial);
  CHECK(run<Model>({.switch_at = 3, .then = {{.schedule = "1f1b", .ranks = 3, .recompute = true}}}) == serial);
  CHECK(run<Model>({.schedule = "zb-h1", .ranks = 3, .switch_at = 2, .then = {two}}) == serial);
}

TEST_CASE_TEMPLATE(
    "trainer: loss and gradient weigh every counted token alike, however sequences fall into micro-batches", Model,
    tiny, tiny_llama) {
  // targets that are not counted fall unevenly over the sequences
  auto first_step = [](int micro_batches, bool is_turned) {
    weft::train::step_result result;
    in_process::run(1, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      options.deadline = 60.0;
      weft::train::trainer<Model, double, space> trainer(weft::schedule::make_program("serial", 1, micro_batches), door,
                                                         options);
      token_source batch(tiny::vocabulary, sequences, length, 1);
      batch.ignore_unevenly();
      if (is_turned) batch.reverse_sequences();
      result = trainer.step(batch.view(micro_batches, 0));
    });
    return result;
  };
  auto const whole = first_step(1, false);
  for (bool const is_turned : {false, true})
    for (int const micro_batches : {1, 2, 3, 7}) {
      auto const cut = first_step(micro_batches, is_turned);
      CHECK(cut.loss == doctest::Approx(whole.loss).epsilon(1e-9));
      CHECK(cut.gradient_norm == doctest::Approx(whole.gradient_norm).epsilon(1e-9));
      CHECK(cut.tokens == whole.tokens);
    }
}

TEST_CASE("trainer: loss and norm are known on every rank, the same") {
  std::vector<double> losses(3, -1.0), norms(3, -1.0), evaluated(3, -1.0);
  in_process::run(3, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {sequences, length};
    options.deadline = 60.0;
    weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("1f1b", 3, 2), door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 1);
    auto const result = trainer.step(batch.view(2, 0));
    auto const rank = static_cast<std::size_t>(door.rank());
    losses[rank] = result.loss;
    norms[rank] = result.gradient_norm;
    evaluated[rank] = trainer.evaluate(batch.view(2, 0));
  });
  CHECK(losses[0] > 1.0);
  CHECK(losses == std::vector<double>(3, losses[0]));
  CHECK(norms == std::vector<double>(3, norms[0]));
  CHECK(evaluated == std::vector<double>(3, evaluated[0]));
}

TEST_CASE_TEMPLATE("trainer: memory that the proof announces is what the run holds, within 5 %", Model, wide,
                   wide_llama) {
  weft_test::sweep some(5);
  for (int variant = 0; variant < 12; ++variant) {
    if (some.skips()) continue;
    int const ranks = 1 + variant % 3;
    bool const recompute = variant / 3 % 2 == 1;
    char const* const schedule = variant / 6 == 0 ? "1f1b" : "zb-h1";
    std::vector<double> announced(static_cast<std::size_t>(ranks)), held(static_cast<std::size_t>(ranks));
    std::atomic<int> grown = 0;
    in_process::run(ranks, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {4, 64};
      options.deadline = 60.0;
      weft::train::trainer<Model, float, space> trainer(
          weft::schedule::make_program(schedule, ranks, 4, {.recompute = recompute}), door, options);
      token_source const batch(64, 16, 64, 1);
      std::size_t const prepared = trainer.stage().model().buffer_bytes();
      trainer.step(batch.view(4, 0));
      if (trainer.stage().model().buffer_bytes() != prepared) ++grown;  // in the midst of a step
      auto const rank = static_cast<std::size_t>(door.rank());
      auto const layers = weft::partition_of<Model>(ranks, options.extents);
      announced[rank] = static_cast<double>(
          weft::memory_of_rank<Model>(trainer.program(), layers, options.extents, door.rank()).total());
      held[rank] = static_cast<double>(trainer.stage().model().buffer_bytes()) +
                   static_cast<double>(trainer.engine_of_training().wire_bytes() + trainer.stage().tied_bytes()) +
                   static_cast<double>(trainer.stage().store().bytes());
    });
    for (std::size_t rank = 0; rank < announced.size(); ++rank) {
      CAPTURE(schedule);
      CAPTURE(ranks);
      CAPTURE(rank);
      CAPTURE(recompute);
      CHECK(held[rank] == doctest::Approx(announced[rank]).epsilon(0.05));
    }
    CHECK(grown == 0);
  }
}

TEST_CASE("trainer: a gradient that is not finite, on one stage, changes no weight on any") {
  for (int const poisoned : {0, 1, 2}) {
    std::map<std::string, std::vector<float>> before, after;
    bool was_skipped = false;
    in_process::run(3, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      options.deadline = 60.0;
      weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("1f1b", 3, 2), door, options);
      auto save = [&](std::map<std::string, std::vector<float>>& into) {
        std::map<std::string, std::vector<float>> state;
        weft::train::collect_state(trainer, true,
                                   [&](char const* kind, auto const& parameter, std::span<float const> values) {
                                     state[std::string(kind) + parameter.name].assign(values.begin(), values.end());
                                   });
        if (door.rank() == 0) into = std::move(state);
      };
      token_source const batch(tiny::vocabulary, sequences, length, 1);
      trainer.step(batch.view(2, 0));
      // A huge norm weight makes this stage overflow to infinity in the next step.
      auto& store = trainer.stage().store();
      std::vector<float> kept;
      if (door.rank() == poisoned)
        for (auto const& entry : store.entries())
          if (entry.descriptor.name.find("ln_") != std::string::npos &&
              entry.descriptor.name.find("weight") != std::string::npos)
            Kokkos::deep_copy(store.value(entry), 1e38F);
      save(before);
      auto const result = trainer.step(batch.view(2, 1));
      save(after);
      if (door.rank() == 0) was_skipped = result.is_skipped;
      if (!result.is_skipped) throw weft::error("this rank did not skip");
    });
    CHECK(was_skipped);
    CHECK(before == after);
  }
}

TEST_CASE("trainer: ranks that disagree are refused, with the difference in words") {
  auto refused = [](auto&& change) {
    std::string message;
    try {
      in_process::run(2, [&](endpoint& door) {
        weft::train::trainer_options options;
        options.extents = {sequences, length};
        options.deadline = 10.0;
        std::string schedule = "1f1b";
        int micro_batches = 3;
        if (door.rank() == 1) change(options, schedule, micro_batches);
        weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program(schedule, 2, micro_batches), door,
                                                         options);
      });
    } catch (weft::agreed_error const& failure) {
      message = failure.what();
    }
    return message;
  };
  using options = weft::train::trainer_options;
  CHECK(refused([](options&, std::string&, int&) {}) == "");
  CHECK(refused([](options&, std::string& schedule, int&) {
          schedule = "gpipe";
        }).find("schedule is \"1f1b\" on rank 0 and \"gpipe\" on rank 1") != std::string::npos);
  CHECK(refused([](options&, std::string&, int& count) { count = 4; }).find("micro-batches is \"3\"") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) { changed.seed = 2; }).find("seed is \"1\"") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) { changed.facts = {{"data", "x"}}; }) != "");
  CHECK(refused([](options& changed, std::string&, int&) { changed.clip = 1e-3; }).find("clip is") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) { changed.dropout = 0.1; }).find("dropout is") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) { changed.optimizer.beta2 = 0.5; }).find("AdamW") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) { changed.learning_rate.peak = 0.5; }).find("learning rate") !=
        std::string::npos);
  CHECK(refused([](options& changed, std::string&, int&) {
          changed.partition = {{0, 1}, {1, 7}};
        }).find("layers per stage") != std::string::npos);
}

TEST_CASE("trainer: a batch that does not fit the program is refused, in words, before anything runs") {
  auto message_of = [](auto&& use) {
    std::string message;
    try {
      in_process::run(2, [&](endpoint& door) {
        weft::train::trainer_options options;
        options.extents = {sequences, length};
        options.deadline = 20.0;
        weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("1f1b", 2, 3), door, options);
        token_source const source(tiny::vocabulary, sequences, length, 1);
        use(trainer, source.view(3, 0));
      });
    } catch (weft::error const& failure) {
      message = failure.what();
    }
    return message;
  };
  CHECK(message_of([](auto& trainer, auto batch) { trainer.step(batch); }) == "");
  CHECK(message_of([](auto& trainer, auto batch) {
          batch.micro_batches = 2;
          trainer.step(batch);
        }).find("cut into 2 micro-batches, the program plays 3") != std::string::npos);
  CHECK(message_of([](auto& trainer, auto batch) {
          batch.counted_tokens = 0;
          trainer.step(batch);
        }).find("counts 0 tokens") != std::string::npos);
  CHECK(message_of([](auto& trainer, auto batch) { trainer.logits(batch, 0); }).find("pass one micro-batch") !=
        std::string::npos);
  CHECK(message_of([](auto& trainer, auto batch) {
          batch.micro_batches = 1;
          trainer.logits(batch, length);
        }).find("logits at position 12") != std::string::npos);
  // Only the ranks of embedding and head look at tokens; every rank hears of it.
  CHECK(message_of([](auto& trainer, auto batch) {
          std::vector<std::int32_t> wrong(static_cast<std::size_t>(sequences * length), 99);
          batch.inputs = wrong.data();
          trainer.step(batch);
        }).find("input number 0 is 99, outside the vocabulary of 31") != std::string::npos);
}

TEST_CASE("trainer: evaluation never drops anything") {
  auto evaluated = [](double dropout) {
    double loss = 0.0;
    in_process::run(1, [&](endpoint& door) {
      weft::train::trainer_options options;
      options.extents = {sequences, length};
      options.dropout = dropout;
      weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program("serial", 1, 3), door, options);
      token_source const source(tiny::vocabulary, sequences, length, 1);
      loss = trainer.evaluate(source.view(3, 0));
    });
    return loss;
  };
  CHECK(evaluated(0.5) == evaluated(0.0));
}

TEST_CASE("trainer: over a vendor's library, evaluation is lowered for it and has the plain bits") {
  auto const make = [] {
    return weft::schedule::make_program("zb-v", 2, 3, {.receives = weft::schedule::receive_time::at_use});
  };
  auto evaluated = [&](bool by_library) {
    std::atomic<double> loss{0.0};
    in_process::run(2, [&](endpoint& world) {
      using library = weft_test::host_library<false>;
      weft::transport::library_door<library> door(world, make().view(), library());
      weft::train::trainer_options options;
      options.extents = {3, length};
      options.deadline = 20.0;
      weft::train::trainer<tiny, float, space> trainer(make(), by_library ? static_cast<endpoint&>(door) : world,
                                                       options);
      token_source const source(tiny::vocabulary, sequences, length, 1);
      auto const training = trainer.step(source.view(3, 0));
      double const mean = trainer.evaluate(source.view(4, 0));
      if ((door.groups() > 0) != by_library) throw weft::error("bodies went another way");
      if (world.rank() == 0) loss = mean + training.loss;
    });
    return loss.load();
  };
  double const plain = evaluated(false);
  CHECK(plain > 0.0);
  CHECK(evaluated(true) == plain);
}

TEST_CASE("trainer: gradients summed by a vendor's library, and by two of them: equal replicas, repeatable") {
  // Two pipelines of two ranks: `one_vendor`, or each pipeline of a vendor of its own.
  enum class door_kind { none, one_vendor, two_vendors };
  auto const train_by = [&](char const* reduction, door_kind kind, int pipelines = 2) {
    std::vector<double> losses;
    in_process::run(2 * pipelines, [&](endpoint& world) {
      auto const make = [] {
        return weft::schedule::make_program(
            "1f1b", 2, 3, {.reduce_over_data = true, .receives = weft::schedule::receive_time::at_use});
      };
      using library = weft_test::host_library<false>;
      auto members = weft::transport::chosen_ranks::all();
      if (kind == door_kind::two_vendors)  // neighbours in rank are of two pipelines
        members = world.rank() % pipelines < 2 ? weft::transport::chosen_ranks{0, 1, pipelines, pipelines + 1}
                                               : weft::transport::chosen_ranks{2, pipelines + 2};
      weft::transport::library_door<library> door(world, make().view(), library(), {.members = members});
      weft::train::trainer_options options;
      options.extents = {3, length};
      options.deadline = 20.0;
      options.compare_replicas_every = 1;
      options.reduction = weft::collective::all_reduce_choice(reduction);
      weft::train::trainer<tiny, float, space> trainer(
          make(), kind == door_kind::none ? world : static_cast<endpoint&>(door), options);
      for (int step = 0; step < 3; ++step) {
        token_source const source(tiny::vocabulary, sequences, length, 1);
        double const loss = trainer.step(source.view(3, static_cast<std::uint64_t>(step))).loss;
        if (world.rank() == 0) losses.push_back(loss);
      }
    });
    return losses;
  };
  auto const near = [](std::vector<double> const& one, std::vector<double> const& other) {
    REQUIRE(one.size() == 3);
    CHECK(one[2] < one[0]);
    for (std::size_t step = 0; step < 3; ++step) CHECK(one[step] == doctest::Approx(other[step]).epsilon(1e-5));
  };
  auto const by_library = train_by("nccl", door_kind::one_vendor);
  near(by_library, train_by("ring", door_kind::one_vendor));
  CHECK(train_by("nccl", door_kind::one_vendor) == by_library);
  CHECK_THROWS_WITH_AS(train_by("nccl", door_kind::none),
                       doctest::Contains("not all ranks have a door of one vendor's"), weft::error);
  // Within one vendor it is the library's; where each rank is alone, recursive halving; in groups of two ranks the
  // library's order is the tree's.
  CHECK(train_by("hierarchical:nccl", door_kind::one_vendor) == by_library);
  CHECK(train_by("hierarchical:nccl", door_kind::none) == train_by("recursive-halving", door_kind::none));
  auto const by_groups = train_by("hierarchical:0,0,1", door_kind::none, 3);
  CHECK(train_by("hierarchical:nccl", door_kind::two_vendors, 3) == by_groups);
  near(by_groups, train_by("ring", door_kind::none, 3));
}

TEST_CASE("trainer: a plan brings its partition and its memory limit") {
  using split = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<2>, weft::micro_batches<3>,
                           weft::stage_layers<2, 5>>;
  using starved = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<weft::dynamic>, weft::micro_batches<3>,
                             weft::memory_limit<weft::kib(64)>>;
  weft::train::trainer_options options;
  options.extents = {3, length};
  options.deadline = 20.0;
  in_process::run(2, [&](endpoint& door) {
    weft::train::trainer<tiny, float, space> const trainer(split{}, door, options);
    if (trainer.partition()[0].size() != 2) throw weft::error("another partition");
  });
  CHECK_THROWS_WITH_AS(
      in_process::run(
          2, [&](endpoint& door) { weft::train::trainer<tiny, float, space> const trainer(starved{}, door, options); }),
      doctest::Contains("bytes"), weft::error);
}
