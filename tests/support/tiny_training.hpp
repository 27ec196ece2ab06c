// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "token_source.hpp"

#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/serial_replay.hpp>
#include <weft/train/state.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/in_process.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

/// A GPT-2 and a Llama small enough to train five steps in a blink, and everything that a run of one leaves behind, so
/// that two runs can be compared to the last bit.
namespace tiny_training {

using tiny =
    weft::model::gpt2<weft::model::gpt_size{.vocabulary = 31, .positions = 12, .width = 16, .heads = 2, .blocks = 5}>;
using tiny_llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 31, .positions = 12, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .blocks = 5}>;
static_assert(tiny_llama::layer_count == tiny::layer_count && tiny_llama::vocabulary == tiny::vocabulary);
using space = Kokkos::DefaultHostExecutionSpace;

struct plan {
  std::string schedule = "serial";
  int ranks = 1;          ///< of one pipeline
  int micro_batches = 3;  ///< of each pipeline
  bool recompute = false;
  int evaluate_every = 0;
  double dropout = 0.0;
  std::vector<weft::topology::layer_range> partition{};
  int switch_at = -1;  ///< save after this step and go on with `then`
  std::vector<plan> then{};
  int data_ranks = 1;
  int gradient_groups = 1;
  std::string reduction = "ring";
  bool ignore_unevenly = false;  ///< most targets of the first sequences are not counted
  std::string table{};           ///< as CSV; `schedule` is then not looked at
  weft::train::loss_scaling scaling{};
  bool capture = false;
  int replay = 0;  ///< one rank adds gradients in the order of table or schedule on so many

  [[nodiscard]] int groups() const { return data_ranks * gradient_groups; }
};

template <class Real>
struct outcome_of {
  using number = typename weft::precision_of<Real>::weight;
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, std::vector<number>> state;  ///< values and moments by name; on rank 0
  friend bool operator==(outcome_of const&, outcome_of const&) = default;
};
using outcome = outcome_of<float>;

inline constexpr int sequences = 7;  // does not divide by the micro-batches
inline constexpr int length = 12;
inline constexpr int default_steps = 5;

/// What each pipeline plays.
inline weft::schedule::program program_of(plan const& how, int ranks) {
  weft::schedule::lower_options const options{
      .recompute = how.recompute, .reduce_over_data = how.data_ranks > 1, .reduce_over_copies = true};
  auto const table = how.table.empty() ? weft::schedule::make_table(how.schedule, how.replay > 0 ? how.replay : ranks,
                                                                    how.micro_batches * how.gradient_groups)
                                       : weft::schedule::read_csv(how.table);
  if (how.replay > 0) return weft::schedule::make_program(weft::schedule::serial_replay(table.view()).view(), options);
  return weft::schedule::make_program(table.view(), options);
}

/// Steps [first, last) on one rank of `door`; rank 0 fills `result`. Collective.
template <class Model = tiny, class Real = float>
void train(weft::transport::endpoint& door, plan const& how, int first, int last, outcome_of<Real>& result) {
  weft::train::trainer_options options;
  int const micro_batches = how.micro_batches * how.groups();
  options.extents = {(sequences + micro_batches - 1) / micro_batches, length};
  options.learning_rate = {1e-2, 2, 8, 0.1};
  options.seed = 5;
  options.dropout = how.dropout;
  options.scaling = how.scaling;
  options.capture = how.capture;
  options.partition = how.partition;
  options.deadline = 60.0;
  options.gradient_groups = how.gradient_groups;
  options.reduction = weft::collective::all_reduce_choice(how.reduction);
  options.compare_replicas_every = 1;
  weft::train::trainer<Model, Real, space> trainer(program_of(how, door.size() / how.data_ranks), door, options);
  if (first > 0) {
    weft::train::restore_state(trainer, true, [&](char const* kind, auto const& parameter, auto* out) {
      auto const& saved = result.state.at(std::string(kind) + parameter.name);
      std::copy(saved.begin(), saved.end(), out);
    });
    trainer.set_steps_done(first, first);
  }
  for (int step = first; step < last; ++step) {
    token_source batch(Model::vocabulary, sequences, length, static_cast<unsigned>(step));
    if (how.ignore_unevenly) batch.ignore_unevenly();
    auto const done =
        trainer.step(batch.view(how.micro_batches * how.gradient_groups, static_cast<std::uint64_t>(step)));
    if (door.rank() == 0) {
      result.losses.push_back(done.loss);
      result.norms.push_back(done.gradient_norm);
    }
    if (how.evaluate_every > 0 && step % how.evaluate_every == 0) {
      token_source const other(Model::vocabulary, sequences, length, 999);
      auto view = other.view(micro_batches, 0);
      view.training = false;
      trainer.evaluate(view);
    }
  }
  std::map<std::string, std::vector<typename outcome_of<Real>::number>> state;
  weft::train::collect_state(trainer, true, [&](char const* kind, auto const& parameter, auto values) {
    state[std::string(kind) + parameter.name].assign(values.begin(), values.end());
  });
  if (door.rank() == 0) result.state = std::move(state);
}

/// The plan with ranks as threads.
template <class Model = tiny, class Real = float>
outcome_of<Real> run(plan const& how, int steps = default_steps) {
  outcome_of<Real> result;
  int const first = how.switch_at < 0 ? steps : how.switch_at;
  weft::transport::in_process::run(how.ranks * how.data_ranks,
                                   [&](auto& door) { train<Model, Real>(door, how, 0, first, result); });
  if (first < steps) {
    plan const& then = how.then.front();
    weft::transport::in_process::run(then.ranks * then.data_ranks,
                                     [&](auto& door) { train<Model, Real>(door, then, first, steps, result); });
  }
  return result;
}

}  // namespace tiny_training
