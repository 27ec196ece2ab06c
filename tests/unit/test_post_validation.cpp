// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiled alone: its models fail on purpose
#include "support/sweep.hpp"
#include "support/token_source.hpp"

#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/schedule/dual_pipe.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_h2.hpp>
#include <weft/schedule/zero_bubble_v.hpp>
#include <weft/train/state.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ws = weft::schedule;
using weft::schedule::norm_kind;
using weft::train::speculation;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

using space = Kokkos::DefaultHostExecutionSpace;

/// Where and when a gradient becomes infinite: in the weights' own half of backward, of one step.
struct fault {
  enum where { nowhere, embedding, head, loss } site = nowhere;
  std::uint64_t step = 0;
};
fault injected;

template <class Context>
void break_gradient(Context const& context, fault::where site) {
  if (injected.site == site && context.dropout.step == injected.step && context.stage.stage() >= 0)
    context.parameters.gradient[0][3] = std::numeric_limits<float>::infinity();
}

template <class Layer, fault::where Site>
struct breaking : Layer {
  template <class Real, class Space>
  static void forward(weft::model::layer_context<Real, Space> const& context, Real const* in, Real* out,
                      std::byte* saved) {
    Layer::forward(context, in, out, saved);
    if (Site == fault::head && injected.site == fault::loss && context.dropout.step == injected.step)
      *context.loss_sum = std::numeric_limits<double>::quiet_NaN();
  }
  template <class Real, class Space>
  static void backward_weight(weft::model::layer_context<Real, Space> const& context, Real const* in,
                              Real const* grad_out, std::byte* saved, std::byte* kept) {
    Layer::backward_weight(context, in, grad_out, saved, kept);
    break_gradient(context, Site);
  }
};

constexpr weft::model::gpt_size gpt{.vocabulary = 31, .positions = 12, .width = 16, .heads = 2, .blocks = 6};
constexpr weft::model::llama_size llm{
    .vocabulary = 31, .positions = 12, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .blocks = 6};

/// A GPT-2, tied, and a Llama, untied, whose ends can break.
struct tied : weft::model::sized_chain<breaking<weft::model::embedding<gpt>, fault::embedding>,
                                       weft::model::repeat<gpt.blocks, weft::model::block<gpt>>,
                                       breaking<weft::model::head<gpt>, fault::head>> {
  static constexpr int vocabulary = gpt.vocabulary;
  static constexpr int positions = gpt.positions;
  static std::string name() { return "tied"; }
};
struct untied : weft::model::sized_chain<breaking<weft::model::llama_embedding<llm>, fault::embedding>,
                                         weft::model::repeat<llm.blocks, weft::model::llama_block<llm>>,
                                         breaking<weft::model::llama_head<llm>, fault::head>> {
  static constexpr int vocabulary = llm.vocabulary;
  static constexpr int positions = llm.positions;
  static std::string name() { return "untied"; }
};

constexpr int sequences = 9;
constexpr int length = 12;

struct run {
  std::string schedule = "serial";
  int ranks = 1;
  int micro_batches = 4;
  norm_kind norm = norm_kind::synchronous;
  speculation speculates = speculation::always;
  double clip = 0.0;
  int steps = 5;
  double dropout = 0.0;
  bool recompute = false;
  int evaluate_every = 0;
  int settle_every = 0;
  int stop_at = -1;  ///< rank 1 (or 0) wishes to stop before this step
  int data_ranks = 1;
  int gradient_groups = 1;
  bool by_option = false;  ///< the trainer makes the program one that is validated afterwards
};

struct outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<bool> skips;
  std::vector<bool> stops;
  std::map<std::string, std::vector<float>> state;
  int redone = 0;
  bool are_ranks_equal = true;

  /// What does not depend on how it came about.
  friend bool operator==(outcome const& left, outcome const& right) {
    auto const same = [](std::vector<double> const& one, std::vector<double> const& other) {
      return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                        [](double x, double y) { return x == y || (x != x && y != y); });
    };
    return same(left.losses, right.losses) && same(left.norms, right.norms) && left.skips == right.skips &&
           left.stops == right.stops && left.state == right.state && left.are_ranks_equal && right.are_ranks_equal;
  }
};

ws::program program_of(run const& how) {
  ws::lower_options const options{.recompute = how.recompute,
                                  .reduce_over_data = how.data_ranks > 1,
                                  .reduce_over_copies = how.schedule == "dualpipe",
                                  .norm = how.by_option ? norm_kind::synchronous : how.norm};
  int const micro_batches = how.micro_batches * how.gradient_groups;
  auto const made = [&](auto policy) {
    return ws::lower(ws::write_table<decltype(policy)>(how.ranks, micro_batches).view(), options);
  };
  if (how.schedule == "1f1b") return made(ws::one_f_one_b{});
  if (how.schedule == "zb-h1") return made(ws::zero_bubble_h1{});
  if (how.schedule == "zb-h2") return made(ws::zero_bubble_h2{});
  if (how.schedule == "zb-v") return made(ws::zero_bubble_v{});
  if (how.schedule == "dualpipe") return made(ws::dual_pipe{});
  return made(ws::serial{});
}

template <class Model>
void train(endpoint& door, run const& how, outcome& result) {
  weft::train::trainer_options options;
  options.extents = {sequences, length};
  options.learning_rate = {1e-2, 2, 8, 0.1};
  options.seed = 5;
  options.dropout = how.dropout;
  options.clip = how.clip;
  options.deadline = 60.0;
  options.gradient_groups = how.gradient_groups;
  options.compare_replicas_every = 2;
  options.speculates = how.speculates;
  if (how.by_option) options.norm = how.norm;
  weft::train::trainer<Model, float, space> trainer(program_of(how), door, options);
  REQUIRE(trainer.is_post_validated() == (how.norm == norm_kind::post_validated));
  outcome mine;
  auto const note = [&](weft::train::step_result const& told) {
    if (told.step < 0) return;
    REQUIRE(told.step == static_cast<std::int64_t>(mine.losses.size()));
    mine.losses.push_back(told.loss);
    mine.norms.push_back(told.gradient_norm);
    mine.skips.push_back(told.is_skipped);
    mine.stops.push_back(told.is_stop_requested);
    mine.redone += told.is_redone;
  };
  for (int step = 0; step < how.steps; ++step) {
    token_source const batch(Model::vocabulary, sequences, length, static_cast<unsigned>(step));
    if (step == how.stop_at && door.rank() == door.size() / 2) trainer.request_stop();
    note(trainer.step(batch.view(how.micro_batches * how.gradient_groups, static_cast<std::uint64_t>(step))));
    if (how.evaluate_every > 0 && step % how.evaluate_every == 0) {
      token_source const other(Model::vocabulary, sequences, length, 999);
      auto view = other.view(2, 0);
      view.training = false;
      trainer.evaluate(view);
    }
    if (how.settle_every > 0 && step % how.settle_every == 0) note(trainer.settle());
  }
  note(trainer.settle());
  CHECK(trainer.optimizer_steps() == std::count(mine.skips.begin(), mine.skips.end(), false));
  std::map<std::string, std::vector<float>> state;
  weft::train::collect_state(trainer, true,
                             [&](char const* kind, auto const& parameter, std::span<float const> values) {
                               state[std::string(kind) + parameter.name].assign(values.begin(), values.end());
                             });
  double told = 0.0;  // of all ranks: every one is told the same
  for (std::size_t each = 0; each < mine.losses.size(); ++each)
    if (mine.losses[each] == mine.losses[each]) told += mine.losses[each] * static_cast<double>(each + 1);
  std::vector<double> all(static_cast<std::size_t>(door.size()));
  weft::transport::all_gather(door, &told, sizeof told, all.data());
  if (door.rank() != 0) return;
  mine.state = std::move(state);
  mine.are_ranks_equal = all == std::vector<double>(all.size(), all[0]);
  result = std::move(mine);
}

template <class Model>
outcome of(run const& how) {
  outcome result;
  in_process::run(how.ranks * how.data_ranks, [&](endpoint& door) { train<Model>(door, how, result); });
  return result;
}

run serial_like(run how) {
  how.schedule = "serial";
  how.ranks = 1;
  how.norm = norm_kind::synchronous;
  how.gradient_groups = how.data_ranks * how.gradient_groups;
  how.data_ranks = 1;
  return how;
}

/// Clips that bind never, always, and in some of the steps.
template <class Model>
std::vector<double> clips() {
  auto norms = of<Model>({}).norms;
  std::sort(norms.begin(), norms.end());
  REQUIRE(norms.front() < norms.back());
  return {0.0, norms.front() / 2, (norms[1] + norms[2]) / 2};
}

constexpr auto post = norm_kind::post_validated;

}  // namespace

TEST_CASE_TEMPLATE(
    "post-validation: losses, norms and state are the synchronous run's, bit for bit, whatever is clipped", Model, tied,
    untied) {
  weft_test::sweep some(5);
  for (double const clip : clips<Model>()) {
    auto const serial = of<Model>({.clip = clip});
    auto const finer = of<Model>({.micro_batches = 8, .clip = clip});
    for (std::string const schedule : {"1f1b", "zb-h1", "zb-h2", "zb-v"})
      for (int ranks = 2; ranks <= 4; ++ranks)
        for (auto const speculates : {speculation::always, speculation::while_unclipped}) {
          if (some.skips()) continue;
          CAPTURE(schedule);
          CAPTURE(ranks);
          CAPTURE(clip);
          run const how{.schedule = schedule,
                        .ranks = ranks,
                        .micro_batches = schedule == "zb-h2" ? 8 : 4,
                        .norm = post,
                        .speculates = speculates,
                        .clip = clip};
          auto const found = of<Model>(how);
          CHECK(found == (schedule == "zb-h2" ? finer : serial));
          bool const waits = speculates == speculation::while_unclipped;
          if (clip == 0.0) CHECK(found.redone == 0);
          // The first step is not known to be clipped; those behind one that is are waited for.
          if (clip != 0.0) CHECK(found.redone > 0);
          if (clip != 0.0 && clip < found.norms[0] && waits) CHECK(found.redone < 5);
        }
  }
}

TEST_CASE_TEMPLATE("post-validation: weights after every step", Model, tied, untied) {
  double const clip = clips<Model>()[2];
  for (int steps = 1; steps <= 3; ++steps) {
    auto const serial = of<Model>({.clip = clip, .steps = steps});
    CHECK(of<Model>({.schedule = "zb-h1", .ranks = 3, .norm = post, .clip = clip, .steps = steps}) == serial);
    CHECK(of<Model>({.schedule = "zb-v", .ranks = 2, .norm = post, .clip = clip, .steps = steps}) == serial);
  }
}

TEST_CASE_TEMPLATE("post-validation: a gradient or a loss that is not finite undoes the step on every rank", Model,
                   tied, untied) {
  weft_test::sweep some(5);
  for (auto const site : {fault::embedding, fault::head, fault::loss})
    for (std::uint64_t const step : {0U, 4U}) {
      injected = {site, step};
      CAPTURE(static_cast<int>(site));
      CAPTURE(step);
      auto const serial = of<Model>({.clip = 1.0});
      CHECK(serial.skips[step]);
      CHECK(std::count(serial.skips.begin(), serial.skips.end(), true) == 1);
      for (std::string const schedule : {"1f1b", "zb-h1", "zb-v"})
        for (int const ranks : {2, 4}) {
          if (some.skips()) continue;
          CAPTURE(schedule);
          CAPTURE(ranks);
          auto const found = of<Model>({.schedule = schedule, .ranks = ranks, .norm = post, .clip = 1.0});
          CHECK(found == serial);
          // Whoever comes behind the fault skips by itself; the others have stepped.
          bool const is_seen_first = schedule == "zb-v" || site == fault::embedding;
          if (!is_seen_first) CHECK(found.redone > 0);
        }
    }
  injected = {};
}

TEST_CASE("post-validation: recompute, dropout, evaluation between, other engines, settled often, one rank") {
  double const clip = clips<tied>()[2];
  auto const plain = of<tied>({.clip = clip, .dropout = 0.2});
  for (std::string const schedule : {"1f1b", "zb-h1", "zb-v"}) {
    CAPTURE(schedule);
    run const how{.schedule = schedule, .ranks = 3, .norm = post, .clip = clip, .dropout = 0.2};
    run other = how;
    other.recompute = true;
    CHECK(of<tied>(other) == plain);
    other = how;
    other.evaluate_every = 2;
    CHECK(of<tied>(other) == plain);
    other.evaluate_every = 1;
    CHECK(of<tied>(other) == plain);
    other = how;
    other.settle_every = 2;
    CHECK(of<tied>(other) == plain);
    other = how;
    other.by_option = true;
    CHECK(of<tied>(other) == plain);
  }
  CHECK(of<tied>({.norm = post, .clip = clip, .dropout = 0.2}) == plain);
}

TEST_CASE("post-validation: few micro-batches") {
  weft_test::sweep some(5);
  for (int const micro_batches : {1, 2, 3})
    for (double const clip : {0.0, 1e-3})
      for (std::string const schedule : {"1f1b", "zb-h1", "zb-v"}) {
        if (some.skips()) continue;
        run const how{.schedule = schedule, .ranks = 4, .micro_batches = micro_batches, .norm = post, .clip = clip};
        CHECK(of<untied>(how) == of<untied>(serial_like(how)));
      }
}

TEST_CASE("post-validation: a wish to stop comes with the step that it was made in") {
  run const how{.schedule = "zb-h1", .ranks = 3, .norm = post, .stop_at = 2};
  auto const found = of<untied>(how);
  CHECK(found == of<untied>(serial_like(how)));
  CHECK(found.stops == std::vector<bool>{false, false, true, true, true});
}

TEST_CASE("post-validation: over data ranks, and with two copies of the model") {
  for (double const clip : clips<tied>()) {
    run how{.schedule = "zb-h1", .ranks = 2, .micro_batches = 2, .norm = post, .clip = clip, .data_ranks = 2};
    CHECK(of<tied>(how) == of<tied>(serial_like(how)));
    for (auto const site : {fault::head, fault::loss}) {
      injected = {site, 1};
      CHECK(of<tied>(how) == of<tied>(serial_like(how)));
      injected = {};
    }
    auto const grouped = of<tied>({.clip = clip, .gradient_groups = 2});
    for (int const ranks : {2, 4})
      CHECK(of<tied>({.schedule = "dualpipe", .ranks = ranks, .micro_batches = 8, .norm = post, .clip = clip}) ==
            grouped);
  }
}

TEST_CASE("post-validation: what must wait says so") {
  in_process::run(2, [](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {sequences, length};
    options.deadline = 60.0;
    weft::train::trainer<untied, float, space> trainer(
        program_of({.schedule = "1f1b", .ranks = 2, .norm = norm_kind::post_validated}), door, options);
    token_source const batch(untied::vocabulary, sequences, length, 0);
    CHECK(trainer.step(batch.view(4, 0)).step == -1);
    CHECK_THROWS_WITH(trainer.set_steps_done(7, 7),
                      "weft::trainer: step 0 is not validated yet, so its weights may still change; call settle() on "
                      "every rank first");
    CHECK_THROWS(weft::train::restore_state(trainer, true, [](auto const&...) {}));
    CHECK(trainer.settle().step == 0);
    CHECK(trainer.settle().step == -1);
    trainer.set_steps_done(7, 7);
  });
}
