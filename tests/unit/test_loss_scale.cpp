// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compiled alone: its model fails on purpose
#include "support/token_source.hpp"

#include <weft/execution/reduced.hpp>
#include <weft/model/llama.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/train/state.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

using weft::schedule::norm_kind;
using weft::train::loss_scale_state;
using weft::train::loss_scaling;
using weft::train::next_scale;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

using space = Kokkos::DefaultHostExecutionSpace;

/// Which end's gradient becomes infinite, and in which steps.
enum class end { first, last };
struct fault {
  end where = end::last;
  std::vector<std::uint64_t> steps;
};
fault injected;

template <class Layer, end Where>
struct breaking : Layer {
  template <class Real, class Space>
  static void backward_weight(weft::model::layer_context<Real, Space> const& context, Real const* in,
                              Real const* grad_out, std::byte* saved, std::byte* kept) {
    Layer::backward_weight(context, in, grad_out, saved, kept);
    auto const& steps = injected.steps;
    if (injected.where == Where && std::find(steps.begin(), steps.end(), context.dropout.step) != steps.end())
      context.parameters.gradient[0][3] = std::numeric_limits<float>::infinity();
  }
};

constexpr weft::model::llama_size llm{
    .vocabulary = 31, .positions = 12, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .blocks = 4};

struct untied : weft::model::sized_chain<breaking<weft::model::llama_embedding<llm>, end::first>,
                                         weft::model::repeat<llm.blocks, weft::model::llama_block<llm>>,
                                         breaking<weft::model::llama_head<llm>, end::last>> {
  static constexpr int vocabulary = llm.vocabulary;
  static constexpr int positions = llm.positions;
  static std::string name() { return "untied"; }
};

constexpr int sequences = 6;
constexpr int length = 12;
constexpr int micro_batches = 3;

struct run {
  int ranks = 1;
  norm_kind norm = norm_kind::synchronous;
  loss_scaling scaling = loss_scaling::dynamic(65536.0, 2);
  int steps = 8;
  int resume_at = -1;  ///< a new trainer goes on from what was saved before this step
};

struct outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<double> scales;
  std::vector<bool> skipped;
  loss_scale_state last;
  std::int64_t optimizer_steps = 0;
  std::map<std::string, std::vector<float>> state;
  friend bool operator==(outcome const&, outcome const&) = default;
};

weft::schedule::program program_of(run const& how) {
  weft::schedule::lower_options const options{.norm = how.norm};
  if (how.ranks == 1)
    return weft::schedule::lower(weft::schedule::write_table<weft::schedule::serial>(1, micro_batches).view(), options);
  return weft::schedule::lower(
      weft::schedule::write_table<weft::schedule::one_f_one_b>(how.ranks, micro_batches).view(), options);
}

/// Steps [first, last); every rank checks that it is told the same.
void train(endpoint& door, run const& how, int first, int last, outcome& result) {
  weft::train::trainer_options options;
  options.extents = {sequences / micro_batches, length};
  options.learning_rate = {1e-2, 2, 8, 0.1};
  options.seed = 5;
  options.deadline = 60.0;
  options.scaling = how.scaling;
  weft::train::trainer<untied, weft::fp16_mixed, space> trainer(program_of(how), door, options);
  if (first > 0) {
    weft::train::restore_state(trainer, true, [&](char const* kind, auto const& parameter, float* out) {
      auto const& saved = result.state.at(std::string(kind) + parameter.name);
      std::copy(saved.begin(), saved.end(), out);
    });
    trainer.set_steps_done(first, result.optimizer_steps);
    trainer.set_loss_scale(result.last);
  }
  auto const note = [&](weft::train::step_result const& done) {
    if (door.rank() != 0 || done.step < 0) return;
    result.losses.push_back(done.loss);
    result.norms.push_back(done.gradient_norm);
    result.scales.push_back(done.loss_scale);
    result.skipped.push_back(done.is_skipped);
  };
  for (int step = first; step < last; ++step) {
    token_source const batch(untied::vocabulary, sequences, length, static_cast<unsigned>(step));
    note(trainer.step(batch.view(micro_batches, static_cast<std::uint64_t>(step))));
  }
  note(trainer.settle());
  std::map<std::string, std::vector<float>> state;
  weft::train::collect_state(trainer, true, [&](char const* kind, auto const& parameter, auto values) {
    state[std::string(kind) + parameter.name].assign(values.begin(), values.end());
  });
  if (door.rank() != 0) return;
  result.state = std::move(state);
  result.last = trainer.loss_scale();
  result.optimizer_steps = trainer.optimizer_steps();
}

outcome play(run const& how) {
  outcome result;
  int const first = how.resume_at < 0 ? how.steps : how.resume_at;
  in_process::run(how.ranks, [&](endpoint& door) { train(door, how, 0, first, result); });
  if (first < how.steps)
    in_process::run(how.ranks, [&](endpoint& door) { train(door, how, first, how.steps, result); });
  return result;
}

}  // namespace

TEST_CASE("loss scale: halved by a step that does not count, doubled after enough that do, within limits") {
  auto const how = loss_scaling::dynamic(8.0, 3).checked(true);
  loss_scale_state now{.scale = how.first};
  std::vector<double> scales;
  for (bool const counted : {true, true, true, false, true, true, false, false, true, true, true}) {
    now = next_scale(how, now, counted);
    scales.push_back(now.scale);
  }
  CHECK(scales == std::vector<double>{8, 8, 16, 8, 8, 8, 4, 2, 2, 2, 4});
  CHECK(next_scale(how, {.scale = loss_scaling::least}, false).scale == loss_scaling::least);
  CHECK(next_scale(how, {.scale = loss_scaling::most, .counted = 2}, true).scale == loss_scaling::most);
  auto const still = loss_scaling::fixed(1024.0).checked(true);
  CHECK(next_scale(still, {.scale = 1024.0}, false) == loss_scale_state{.scale = 1024.0});
  CHECK(loss_scaling{}.checked(true).how == loss_scaling::kind::dynamic);
  CHECK(loss_scaling{}.checked(true).first == 65536.0);
  CHECK(loss_scaling{}.checked(false).how == loss_scaling::kind::none);
  CHECK(loss_scaling{}.checked(false).first == 1.0);
  for (double const wrong : {0.0, -2.0, 3.0, 0.5, 1e300, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(static_cast<void>(loss_scaling::fixed(wrong).checked(true)), weft::error);
  CHECK_THROWS_AS(static_cast<void>(loss_scaling::dynamic(4.0, 0).checked(true)), weft::error);
}

TEST_CASE("loss scale: automatic is dynamic where layers compute in float16, and where stages send it") {
  using weft::train::has_float16;
  CHECK(has_float16<weft::fp16_mixed>);
  CHECK(!has_float16<weft::bf16_mixed>);
  CHECK(!has_float16<float>);
  using narrow = weft::precision<weft::wire_in<weft::float16>>;
  in_process::run(2, [&](endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {sequences / micro_batches, length};
    options.deadline = 60.0;
    weft::train::trainer<untied, narrow, space> trainer(program_of({.ranks = 2}), door, options);
    CHECK(trainer.loss_scale().scale == 65536.0);
    CHECK(trainer.has_dynamic_loss_scale());
    std::vector<loss_scale_state> const none{{.scale = 3.0}, {.scale = 0.0}, {.scale = 4.0, .counted = -1}};
    for (loss_scale_state const& wrong : none)
      CHECK_THROWS_WITH_AS(trainer.set_loss_scale(wrong), doctest::Contains("a power of two from 1 to 2^30"),
                           weft::error);
    trainer.set_loss_scale({});
    CHECK(trainer.loss_scale() == loss_scale_state{});
  });
}

TEST_CASE("loss scale: an infinity on one stage skips the step everywhere and halves the scale once; the run goes on") {
  for (end const where : {end::first, end::last}) {
    injected = {where, {}};
    auto const whole = play({.ranks = 3, .steps = 3});
    injected.steps = {3};
    auto const skipped = play({.ranks = 3, .steps = 4});
    CHECK(skipped.skipped == std::vector<bool>{false, false, false, true});
    CHECK(skipped.state == whole.state);  // not a bit of weights and moments
    CHECK(skipped.optimizer_steps == 3);
    // Doubled after two steps in a row; the step that is skipped began with the third one's scale.
    CHECK(skipped.scales == std::vector<double>{65536, 65536, 131072, 131072});
    CHECK(skipped.last == loss_scale_state{.scale = 65536});
    auto const longer = play({.ranks = 3});
    CHECK(longer.skipped[4] == false);
    CHECK(longer.scales[4] == 65536);
    CHECK(longer.losses[7] < longer.losses[0]);
    // The same on one rank, after a resume in the middle, and where steps are validated afterwards.
    CHECK(play({}) == longer);
    CHECK(play({.ranks = 2, .resume_at = 4}) == longer);
    CHECK(play({.ranks = 3, .norm = norm_kind::post_validated}) == longer);
  }
  injected = {};
}

TEST_CASE("loss scale: one that is too large comes down by itself, step by step") {
  auto const found = play({.ranks = 2, .scaling = loss_scaling::dynamic(loss_scaling::most), .steps = 30});
  CHECK(found.skipped.front());
  CHECK(!found.skipped.back());
  CHECK(found.scales.back() < loss_scaling::most / 16);
  for (std::size_t step = 0; step + 1 < found.scales.size(); ++step)
    CHECK(found.scales[step + 1] == (found.skipped[step] ? found.scales[step] / 2 : found.scales[step]));
  // Without a scale, gradients below 6e-8 are lost: another result.
  CHECK(play({.scaling = loss_scaling::none(), .steps = 3}).norms != play({.steps = 3}).norms);
}
