// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/asynchronous_training.hpp"
#include "support/sweep.hpp"

#include <weft/schedule/one_f_one_b.hpp>
#include <weft/train/hand_over.hpp>
#include <weft/train/trainer.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace asynchronous_training;

namespace {

/// Every schedule on 1 to 4 ranks; 2BW with as few micro-batches as it can have, and with more.
std::vector<run> every_run() {
  std::vector<run> all{{.ranks = 1}, {.schedule = "pipedream-2bw", .ranks = 1, .micro_batches = 2}};
  for (int ranks = 2; ranks <= 4; ++ranks) {
    for (char const* const name : {"pipedream", "pipedream-vertical-sync", "pipedream-no-stash"})
      all.push_back({.schedule = name, .ranks = ranks});
    for (int const micro_batches : {ranks - 1, ranks, ranks + 2})
      all.push_back({.schedule = "pipedream-2bw", .ranks = ranks, .micro_batches = micro_batches});
  }
  return all;
}

void compare(run const& how, outcome const& found, outcome const& expected) {
  CAPTURE(how.schedule);
  CAPTURE(how.ranks);
  CAPTURE(how.micro_batches);
  CHECK(found.losses == expected.losses);
  CHECK(found.norms == expected.norms);
  CHECK(found.skipped == expected.skipped);
  REQUIRE(found.after.size() == expected.after.size());
  for (std::size_t window = 0; window < found.after.size(); ++window) {
    CAPTURE(window);
    REQUIRE(!found.after[window].empty());
    CHECK((found.after[window] == expected.after[window]));
  }
}

template <class Model = tiny>
void compare(run const& how) {
  compare(how, train<Model>(how), emulate<Model>(how));
}

}  // namespace

TEST_CASE_TEMPLATE("asynchronous trainer: weights after every step are those of the formula, bit for bit", Model, tiny,
                   tiny_llama) {
  weft_test::sweep some(5);
  for (run how : every_run())
    for (clip_policy const clipping : {clip_policy::per_stage, clip_policy::delayed_norm}) {
      if (some.skips()) continue;
      how.clipping = clipping;
      compare<Model>(how);
    }
}

TEST_CASE("asynchronous trainer: the emulation tells schedules and clip policies apart") {
  std::vector<outcome> all;
  for (char const* const name : {"pipedream", "pipedream-vertical-sync", "pipedream-no-stash", "pipedream-2bw"})
    all.push_back(
        emulate<tiny>({.schedule = name, .ranks = 3, .micro_batches = name[9] == '-' && name[10] == '2' ? 3 : 1}));
  all.push_back(emulate<tiny>({.ranks = 3, .clipping = clip_policy::delayed_norm}));
  all.push_back(emulate<tiny>({.ranks = 3, .clip = 0.0}));
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t other = one + 1; other < all.size(); ++other) CHECK(all[one].losses != all[other].losses);
  CHECK(all[0].losses.back() < all[0].losses.front());
}

TEST_CASE("asynchronous trainer: windows change no bit") {
  for (run how : every_run())
    for (clip_policy const clipping : {clip_policy::per_stage, clip_policy::delayed_norm}) {
      how.clipping = clipping;
      for (std::vector<int> const& windows : {std::vector<int>{7}, {2, 5}, {4, 1, 2}}) {
        how.windows = windows;
        compare(how);
      }
    }
}

TEST_CASE("asynchronous trainer: dropout, recompute and evaluation in between change no bit") {
  for (run how : {run{.ranks = 3}, run{.schedule = "pipedream-2bw", .ranks = 3, .micro_batches = 4}}) {
    how.dropout = 0.2;
    how.evaluate = true;
    how.windows = {1, 2, 4};
    compare(how);
    how.recompute = true;
    compare(how);
  }
}

TEST_CASE_TEMPLATE("asynchronous trainer: saved with what it carries, resumed, equals the uninterrupted run", Model,
                   tiny, tiny_llama) {
  weft_test::sweep some(5);
  for (run how : every_run())
    for (clip_policy const clipping : {clip_policy::per_stage, clip_policy::delayed_norm}) {
      how.clipping = clipping;
      for (int const save_after : {1, 3}) {
        if (some.skips()) continue;
        how.windows = {2, 1, 2, 2};
        how.save_after = save_after;
        compare<Model>(how);
      }
    }
}

TEST_CASE("asynchronous trainer: a fixed loss scale changes no bit, nor does another one after a resume") {
  for (char const* const name : {"pipedream", "pipedream-2bw"}) {
    run how{.schedule = name, .ranks = 3, .micro_batches = name[9] == '-' ? 3 : 1, .windows = {2, 1, 2, 2}};
    how.loss_scale = 1024.0;
    compare(how);
    how.save_after = 2;
    how.loss_scale_after = 64.0;
    compare(how);
  }
}

TEST_CASE("asynchronous trainer: a gradient that is not finite on some stages leaves those as they are in that step") {
  for (int const ranks : {2, 3})
    for (char const* const name : {"pipedream", "pipedream-2bw"})
      for (clip_policy const clipping : {clip_policy::per_stage, clip_policy::delayed_norm})
        for (int stage = 0; stage + 1 < ranks; ++stage) {
          run how{.schedule = name, .ranks = ranks, .windows = {3, 4}, .clipping = clipping};
          if (how.schedule == "pipedream-2bw") how.micro_batches = 3;
          how.poisoned_step = 2;
          how.poisoned_stage = stage;
          auto const found = train<tiny>(how);
          compare(how, found, emulate<tiny>(how));
          // The stages above the poisoned one know nothing of it; below, and where the tied table is, it is felt.
          std::vector<int> below;
          for (int each = 0; each <= stage; ++each) below.push_back(each);
          CHECK(found.skipped[1].empty());
          CHECK(found.skipped[2] == below);
          std::size_t const late = 2 + (how.schedule == "pipedream" ? static_cast<std::size_t>(ranks) : 1U);
          CHECK(found.skipped[late] == std::vector<int>{0});
          CHECK(found.skipped[late + 1].empty());
          for (auto const& [key, tensor] : found.after.back())
            for (float const each : tensor.value) REQUIRE(std::isfinite(each));
        }
}

TEST_CASE("asynchronous trainer: both use sites of a tied table hold equal bits") {
  for (run const& how : every_run()) {
    auto const last = train<tiny>(how).after.back();
    int pairs = 0;
    for (auto const& [key, tensor] : last) {
      if (!key.ends_with("/1")) continue;
      auto const middle = key.substr(key.find('/'), key.size() - key.find('/') - 2);
      CHECK((tensor == last.at("0" + middle + "/0")));
      ++pairs;
    }
    CHECK(pairs == 1);
  }
}

TEST_CASE("asynchronous trainer: goes on from 1F1B, and 1F1B from it, with the newest weights") {
  using flushing = weft::train::trainer<tiny, float, space>;
  using trainer = weft::train::asynchronous_trainer<tiny, float, space>;
  int const ranks = 3;
  run const how{.ranks = ranks, .micro_batches = 1};
  auto const batch_of = [&](std::int64_t step, int micro_batches, auto&& use) {
    token_source const source(tiny::vocabulary, how.sequences(), length, static_cast<unsigned>(step));
    use(source.view(micro_batches, static_cast<std::uint64_t>(step)));
  };
  auto const flush_program = [&] { return weft::schedule::make_program<weft::schedule::one_f_one_b>(ranks, 1); };
  // 1F1B, PipeDream, 1F1B; and each switch once more by way of what a file would hold.
  std::vector<double> losses[2];
  state last[2];
  for (int const by_file : {0, 1})
    weft::transport::in_process::run(ranks, [&](auto& door) {
      std::vector<double> own;
      auto const flush = [&](flushing& with, int steps) {
        for (int each = 0; each < steps; ++each)
          batch_of(with.steps_done(), 1, [&](auto const& batch) { own.push_back(with.step(batch).loss); });
      };
      auto const go_on = [&](auto& from, auto& to) {
        if (by_file == 0) return weft::train::hand_over(from, to);
        std::map<std::string, std::vector<float>> tensors;
        weft::train::collect_state(from, true, [&](std::string const& kind, auto const& each, auto values) {
          tensors[kind + each.name].assign(values.begin(), values.end());
        });
        // Rank 0 has them; a file would be read by all.
        for (auto const& each : weft::train::owned_parameters(from))
          for (char const* const kind : weft::train::state_kinds) {
            auto& values = tensors[kind + each.name];
            values.resize(static_cast<std::size_t>(each.elements()));
            weft::transport::broadcast(door, values.data(), values.size() * sizeof(float), 0, 60.0);
          }
        weft::train::restore_state(to, true, [&](std::string const& kind, auto const& each, float* out) {
          auto const& values = tensors.at(kind + each.name);
          std::copy(values.begin(), values.end(), out);
        });
        to.set_steps_done(from.steps_done(), from.optimizer_steps());
      };
      flushing first(flush_program(), door, options_of(how));
      flush(first, 2);
      trainer second(weft::train::pipedream_windows<>(ranks), door, options_of(how));
      go_on(first, second);
      for (int window = 0; window < 3; ++window)
        batch_of(second.steps_done(), 1,
                 [&](auto const& batch) { own.push_back(second.run(std::span(&batch, 1)).front().loss); });
      flushing third(flush_program(), door, options_of(how));
      go_on(second, third);
      flush(third, 2);
      if (door.rank() == 0) losses[by_file] = own;
      add_own(third, last[by_file]);
    });
  REQUIRE(losses[0].size() == 7);
  CHECK(losses[0] == losses[1]);
  CHECK((last[0] == last[1]));
  CHECK(losses[0].back() < losses[0].front());
}

TEST_CASE("asynchronous trainer: weights, and wires with tied gradients, take the bytes that were announced") {
  for (run const& how : every_run()) {
    if (how.ranks == 1) continue;  // both sites of the tied table on one rank
    auto const ranks = static_cast<std::size_t>(how.ranks);
    std::vector<weft::memory_needs> announced(ranks);
    std::vector<std::int64_t> parameters(ranks), wires(ranks);
    weft::transport::in_process::run(how.ranks, [&](auto& door) {
      auto const plan = weft::train::windows_of(how.schedule, how.ranks, how.micro_batches);
      weft::train::asynchronous_trainer<tiny, float, space> trainer(plan, door, options_of(how));
      token_source const source(tiny::vocabulary, how.sequences(), length, 1);
      std::vector<weft::model::token_batch> const batches(2 * ranks, source.view(how.micro_batches, 0));
      // The second window is in mid-run, and reads all that is kept.
      for (int window = 0; window < 2; ++window) static_cast<void>(trainer.run(batches));
      auto const own = static_cast<std::size_t>(door.rank());
      auto const layers = weft::partition_of<tiny>(how.ranks, options_of(how).extents);
      announced[own] = weft::memory_of_rank<tiny>(trainer.program(), layers, options_of(how).extents, door.rank());
      auto const& store = trainer.stage().store();
      for (auto const& entry : store.entries())
        parameters[own] += entry.elements * store.values_of(entry) * std::int64_t{sizeof(float)};
      wires[own] = static_cast<std::int64_t>(trainer.engine_of_training().wire_bytes() + trainer.stage().tied_bytes());
    });
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      CAPTURE(how.schedule);
      CAPTURE(how.ranks);
      CAPTURE(how.micro_batches);
      CAPTURE(rank);
      CHECK(parameters[rank] == announced[rank].parameters);
      CHECK(wires[rank] == announced[rank].wire);
    }
  }
}

TEST_CASE("asynchronous trainer: what it cannot do is refused on every rank, in words") {
  auto const message_of = [](int ranks, auto&& plan, auto&& change) {
    std::string message;
    try {
      weft::transport::in_process::run(ranks, [&](auto& door) {
        auto options = options_of({});
        options.deadline = 20.0;
        change(options);
        weft::train::asynchronous_trainer<tiny, float, space> trainer(plan(), door, options);
        token_source const source(tiny::vocabulary, 3, length, 1);
        auto const batch = source.view(1, 0);
        static_cast<void>(trainer.run(std::span(&batch, 1)));
      });
    } catch (weft::error const& failure) {
      message = failure.what();
    }
    return message;
  };
  auto const pipedream = [] { return weft::train::pipedream_windows<>(2); };
  auto const nothing = [](auto&) {};
  auto const says = [](std::string const& message, char const* words) {
    CAPTURE(message);
    CHECK(message.find(words) != std::string::npos);
  };
  CHECK(message_of(2, pipedream, nothing) == "");
  says(message_of(3, pipedream, nothing), "planned for 2 ranks, and there are 3");
  says(message_of(2, pipedream, [](auto& options) { options.gradient_groups = 2; }), "one group of gradients");
  says(message_of(2, pipedream, [](auto& options) { options.norm = weft::schedule::norm_kind::post_validated; }),
       "none to validate afterwards");
  says(message_of(2, pipedream, [](auto& options) { options.scaling = weft::train::loss_scaling::dynamic(); }),
       "set trainer_options::scaling to loss_scaling::fixed(1024)");
  says(message_of(
           2, [] { return weft::train::pipedream_2bw_windows(2, 2); }, nothing),
       "cut into 1 micro-batches, a step of pipedream-2bw plays 2");
  says(message_of(
           2,
           [] {
             auto plan = weft::train::pipedream_windows<>(2);
             plan.table = [](int, int steps) {
               return weft::schedule::write_table<weft::schedule::one_f_one_b>(2, steps);
             };
             return plan;
           },
           nothing),
       "has one step at its end");
  says(message_of(
           2,
           [] {
             auto plan = weft::train::pipedream_windows<>(2);
             plan.micro_batches = 2;
             return plan;
           },
           nothing),
       "put one after every 2");
  CHECK_THROWS_WITH_AS(weft::transport::in_process::run(
                           2,
                           [&](auto& door) {
                             weft::train::trainer<tiny, float, space> const trainer(
                                 weft::schedule::make_program<weft::schedule::pipedream<>>(2, 4), door, options_of({}));
                           }),
                       doctest::Contains("train it with weft::asynchronous_trainer"), weft::error);
  CHECK_THROWS_WITH_AS(static_cast<void>(weft::train::clip_policy_of("global")),
                       doctest::Contains("does not exist in time; use per-stage, or delayed-norm"), weft::error);
  CHECK_THROWS_WITH_AS(static_cast<void>(weft::train::windows_of("pipedream", 2, 4)),
                       doctest::Contains("4 micro-batches per step are asked for"), weft::error);
  CHECK_THROWS_WITH_AS(static_cast<void>(weft::train::windows_of("gpipe", 2, 4)),
                       doctest::Contains("no asynchronous schedule"), weft::error);
}

TEST_CASE("asynchronous trainer: an exception on one rank ends all of them, in a window too") {
  for (int const failing : {0, 2}) {
    std::string message;
    try {
      weft::transport::in_process::run(3, [&](auto& door) {
        auto options = options_of({});
        weft::train::asynchronous_trainer<tiny, float, space> trainer(weft::train::pipedream_windows<>(3), door,
                                                                      options);
        token_source source(tiny::vocabulary, 3, length, 1);
        auto batch = source.view(1, 0);
        std::vector<std::int32_t> const wrong(3 * length, 99);
        if (failing == 0) batch.inputs = wrong.data();
        if (failing == 2) batch.targets = wrong.data();
        std::vector<weft::model::token_batch> const batches(4, batch);
        static_cast<void>(trainer.run(batches));
      });
    } catch (weft::error const& failure) {
      message = failure.what();
    }
    CHECK(message.find("is 99, outside the vocabulary of 31") != std::string::npos);
  }
}
