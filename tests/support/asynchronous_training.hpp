// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "asynchronous_emulation.hpp"
#include "forwarding_door.hpp"
#include "token_source.hpp"

#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/train/asynchronous_state.hpp>
#include <weft/train/asynchronous_trainer.hpp>
#include <weft/transport/in_process.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

/// Asynchronous runs of small models with ranks as threads, and what has to come out by the emulation.
namespace asynchronous_training {

using asynchronous_emulation::state;
using space = Kokkos::DefaultHostExecutionSpace;
using weft::train::clip_policy;

using tiny =
    weft::model::gpt2<weft::model::gpt_size{.vocabulary = 31, .positions = 12, .width = 16, .heads = 2, .blocks = 3}>;
using tiny_llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 31, .positions = 12, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .blocks = 3}>;

inline constexpr int length = 12;

struct run {
  std::string schedule = "pipedream";
  int ranks = 2;
  int micro_batches = 1;  ///< of one step
  std::vector<int> windows{1, 1, 1, 1, 1, 1, 1};
  clip_policy clipping = clip_policy::per_stage;
  double clip = 0.5;  ///< small enough that it acts
  double dropout = 0.0;
  bool recompute = false;
  int poisoned_step = -1;  ///< the gradient that enters `poisoned_stage` in this step has an infinite element
  int poisoned_stage = 0;
  int save_after = -1;  ///< windows; then everything is saved and other trainers go on
  double loss_scale = 1.0;
  double loss_scale_after = 0.0;  ///< of those other trainers; 0: the same
  bool evaluate = false;

  [[nodiscard]] int sequences() const { return micro_batches == 1 ? 3 : 2 * micro_batches + 1; }
};

struct outcome {
  std::vector<state> after;  ///< every window
  std::vector<double> losses, norms;
  std::vector<std::vector<int>> skipped;  ///< stages, by step
  friend bool operator==(outcome const&, outcome const&) = default;
};

inline weft::train::trainer_options options_of(run const& how) {
  weft::train::trainer_options options;
  options.extents = {(how.sequences() + how.micro_batches - 1) / how.micro_batches, length};
  options.learning_rate = {1e-2, 2, 20, 0.1};
  options.seed = 5;
  options.clip = how.clip;
  options.dropout = how.dropout;
  options.deadline = 60.0;
  options.scaling = weft::train::loss_scaling::fixed(how.loss_scale);
  return options;
}

/// Adds an infinity to one gradient on its way to the rank before.
class poisoning_door : public weft_test::forwarding_door {
 public:
  poisoning_door(weft::transport::endpoint& inner, int stage, int message)
      : forwarding_door(inner),
        stage_(stage),
        left_(message) {}
  weft::transport::request send(void const* data, std::size_t bytes, int peer, int tag) override {
    if (rank() == stage_ + 1 && peer == stage_ && tag == 2 * stage_ + 1 && left_-- == 0) {
      constexpr std::size_t payload = 128;
      float const infinity = std::numeric_limits<float>::infinity();
      std::memcpy(static_cast<std::byte*>(const_cast<void*>(data)) + payload, &infinity, sizeof infinity);
    }
    return forwarding_door::send(data, bytes, peer, tag);
  }

 private:
  int stage_;
  int left_;
};

/// What is saved between two trainers: as files would hold it, by name and kind.
struct saved_run {
  std::map<std::string, std::vector<float>> tensors;
  weft::train::carried_numbers numbers;
};

template <class Trainer>
void save(Trainer& trainer, saved_run& to) {
  std::map<std::string, std::vector<float>> tensors;
  auto const keep = [&](std::string const& kind, auto const& parameter, std::span<float const> values) {
    tensors[kind + "/" + parameter.name].assign(values.begin(), values.end());
  };
  weft::train::collect_state(trainer, true, keep);
  weft::train::collect_carried(trainer, keep);
  auto const numbers = weft::train::collect_carried_numbers(trainer);
  if (trainer.door().rank() == 0) to = {std::move(tensors), numbers};
}

template <class Trainer>
void restore(Trainer& trainer, saved_run const& from) {
  auto const read = [&](std::string const& kind, auto const& parameter, float* out) {
    auto const& values = from.tensors.at(kind + "/" + parameter.name);
    std::copy(values.begin(), values.end(), out);
  };
  weft::train::restore_state(trainer, true, read);
  weft::train::restore_carried(trainer, from.numbers, read);
}

template <class Trainer>
void add_own(Trainer& trainer, state& to) {
  auto& store = trainer.stage().store();
  auto const lock = trainer.door().launch_lock();
  for (auto const& entry : store.entries()) {
    auto const size = static_cast<std::size_t>(entry.elements);
    asynchronous_emulation::tensor each{std::vector<float>(size), std::vector<float>(size), std::vector<float>(size)};
    store.read(store.value(entry), each.value.data());
    store.read(store.first_moment(entry), each.first.data());
    store.read(store.second_moment(entry), each.second.data());
    to[asynchronous_emulation::key_of(entry.stage, entry.descriptor.name, entry.descriptor.use_site)] = each;
  }
}

/// Windows [first, last) on one rank of `inner`, from `saved` where they are not the first; this rank adds its own
/// weights to `result`, rank 0 the rest. Collective.
template <class Model = tiny>
void train(weft::transport::endpoint& inner, run const& how, std::size_t first, std::size_t last, saved_run& saved,
           outcome& result) {
  poisoning_door door(inner, how.poisoned_step < 0 ? how.ranks : how.poisoned_stage,
                      how.poisoned_step * how.micro_batches);
  auto plan = weft::train::windows_of(how.schedule, how.ranks, how.micro_batches);
  plan.lowering.recompute = how.recompute;
  weft::train::asynchronous_trainer<Model, float, space> trainer(plan, door, options_of(how), how.clipping);
  if (first > 0) restore(trainer, saved);
  for (std::size_t window = first; window < last; ++window) {
    std::vector<token_source> sources;
    std::vector<weft::model::token_batch> batches;
    for (int step = 0; step < how.windows[window]; ++step) {
      auto const number = static_cast<unsigned>(trainer.steps_done()) + static_cast<unsigned>(step);
      sources.emplace_back(Model::vocabulary, how.sequences(), length, number);
      if (number % 2 == 1) sources.back().ignore_unevenly();
    }
    for (auto const& each : sources)
      batches.push_back(
          each.view(how.micro_batches, static_cast<std::uint64_t>(trainer.steps_done()) + batches.size()));
    auto const done = trainer.run(batches);
    if (how.evaluate) static_cast<void>(trainer.evaluate(sources[0].view(how.sequences(), 0)));
    if (door.rank() == 0)
      for (auto const& each : done) {
        result.losses.push_back(each.loss);
        result.norms.push_back(each.gradient_norm);
        result.skipped.push_back(each.skipped_stages);
      }
    add_own(trainer, result.after[window]);  // one rank at a time
  }
  if (last < how.windows.size()) save(trainer, saved);
}

/// With ranks as threads.
template <class Model = tiny>
outcome train(run const& how) {
  outcome result;
  result.after.resize(how.windows.size());
  saved_run saved;
  std::size_t const all = how.windows.size();
  std::size_t const middle = how.save_after > 0 ? static_cast<std::size_t>(how.save_after) : all;
  weft::transport::in_process::run(how.ranks, [&](auto& door) { train<Model>(door, how, 0, middle, saved, result); });
  run then = how;
  if (how.loss_scale_after > 0.0) then.loss_scale = how.loss_scale_after;
  if (middle < all)
    weft::transport::in_process::run(how.ranks,
                                     [&](auto& door) { train<Model>(door, then, middle, all, saved, result); });
  return result;
}

/// The rule of each schedule, in words of the papers.
inline asynchronous_emulation::setup emulated(run const& how) {
  asynchronous_emulation::setup setup;
  int const ranks = how.ranks;
  auto const late = [](int by) { return [by](int, int step) { return std::max(0, step - by); }; };
  auto const stash = [ranks](int stage, int step) { return std::max(0, step - (ranks - 1 - stage)); };
  setup.forward = setup.backward = stash;
  if (how.schedule == "pipedream-vertical-sync") setup.forward = setup.backward = late(ranks - 1);
  if (how.schedule == "pipedream-no-stash") setup.backward = late(0);
  if (how.schedule == "pipedream-2bw") setup.forward = setup.backward = late(1);
  setup.stages = ranks;
  setup.micro_batches = how.micro_batches;
  setup.delay = how.schedule == "pipedream-2bw" ? (how.micro_batches >= ranks ? 1 : 2) : ranks;
  setup.clipping = how.clipping;
  auto const options = options_of(how);
  setup.clip = options.clip;
  setup.optimizer = options.optimizer;
  setup.learning_rate = options.learning_rate;
  setup.seed = options.seed;
  setup.dropout = how.dropout;
  setup.largest = options.extents;
  setup.poisoned_step = how.poisoned_step;
  setup.poisoned_stage = how.poisoned_stage;
  return setup;
}

template <class Model = tiny>
outcome emulate(run const& how) {
  auto setup = emulated(how);
  setup.layers = weft::partition_of<Model>(how.ranks, setup.largest).ranges();
  asynchronous_emulation::emulation<Model> serial(setup);
  outcome result;
  int step = 0;
  for (int const window : how.windows) {
    for (int each = 0; each < window; ++each, ++step) {
      token_source source(Model::vocabulary, how.sequences(), length, static_cast<unsigned>(step));
      if (step % 2 == 1) source.ignore_unevenly();
      auto const batch = source.view(how.micro_batches, static_cast<std::uint64_t>(step));
      auto const told = serial.step(batch);
      result.losses.push_back(told.loss_sum / static_cast<double>(batch.counted_tokens));
      result.norms.push_back(told.norm);
      result.skipped.push_back(told.skipped);
    }
    result.after.push_back(serial.now());
  }
  return result;
}

}  // namespace asynchronous_training
