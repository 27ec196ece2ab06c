// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/build_facts.hpp>
#include <weft/execution/random.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/proof.hpp>
#include <weft/schedule/digest.hpp>
#include <weft/schedule/forward_program.hpp>
#include <weft/schedule/program.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/learning_rate.hpp>
#include <weft/train/training_stage.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

struct trainer_options {
  model::extents extents{};  ///< the largest micro-batch that will ever come
  adamw optimizer{};
  warmup_cosine learning_rate{};
  double clip = 1.0;                                         ///< largest global gradient norm; 0: no clipping
  std::uint64_t seed = 1;                                    ///< of the initial weights
  double dropout = 0.0;                                      ///< share of activations dropped while training
  double deadline = 300.0;                                   ///< seconds that one wait may take
  bool record_times = false;                                 ///< keep when every action of the last step ran
  std::vector<topology::layer_range> partition{};            ///< layers of each stage; empty: balanced by cost
  std::vector<std::pair<std::string, std::string>> facts{};  ///< more that all ranks must agree on: (name, value)
};

/// What a step tells, on every rank.
struct step_result {
  double loss = 0.0;           ///< mean over the counted tokens, in nats
  std::int64_t tokens = 0;     ///< counted tokens of the batch
  double gradient_norm = 0.0;  ///< over all parameters, before clipping
  double learning_rate = 0.0;
  bool is_skipped = false;         ///< the norm was not finite: no rank has changed a weight
  bool is_stop_requested = false;  ///< some rank has called `request_stop`
};

/// Trains one model under one program. A template on model, precision and execution space only: schedules, meshes and
/// transports are data to it.
///
/// Construction, `step`, `evaluate` and `logits` are collective over the endpoint's ranks; each rank passes the same
/// batch.
template <class Model, class Real = float, class Space = Kokkos::DefaultExecutionSpace>
class trainer {
 public:
  using real = Real;
  using stage_type = training_stage<Model, Real, Space>;

  /// `training` must be lowered. Refuses, on every rank, ranks that disagree about model, program, options or build.
  trainer(schedule::program training, transport::endpoint& door, trainer_options options)
      : door_(door),
        options_(std::move(options)),
        program_(std::move(training)) {
    transport::guarded(door_, [&] { build(); });
  }

  /// The same from a plan: with its partition (`stage_layers`), and refused where it would exceed its `memory_limit`.
  template <class Plan>
    requires requires { Plan::known_while_compiling; }
  trainer(Plan const&, transport::endpoint& door, trainer_options options)
      : door_(door),
        options_(std::move(options)),
        program_(Plan::program(door.size())) {
    if constexpr (Plan::layers::stages > 0)
      options_.partition =
          topology::partition::of(Plan::layers::sizes, Plan::layers::stages, Model::layer_count).ranges();
    transport::guarded(door_, [&] {
      if (Plan::memory_limit > 0)
        check_memory<Model, Real>(program_.view(), checked_partition(), options_.extents, Plan::memory_limit);
      build();
    });
  }

  trainer(trainer const&) = delete;
  trainer& operator=(trainer const&) = delete;
  ~trainer() = default;

  /// Forward, backward, gradient norm, clipping and AdamW on one global batch, cut into the program's micro-batches.
  ///
  /// An exception on any rank ends the step on all of them, and with it the trainer: go on from a saved state. A rank
  /// that fails has not committed its new weights.
  step_result step(model::token_batch const& batch) {
    return transport::guarded(door_, [&] {
      require_batch(batch, program_.view().micro_batches);
      step_result result;
      result.learning_rate = options_.learning_rate(steps_done_);
      result.tokens = batch.counted_tokens;
      stage_->begin_training(batch, result.learning_rate, options_.clip, optimizer_steps_ + 1);
      training_->step();
      result.loss = stage_->loss_sum() / static_cast<double>(batch.counted_tokens);
      result.gradient_norm = stage_->gradient_norm();
      result.is_skipped = !stage_->commit();
      result.is_stop_requested = stage_->is_stop_requested();
      ++steps_done_;
      if (!result.is_skipped) ++optimizer_steps_;
      return result;
    });
  }

  /// Asks all ranks to stop: the next step's result says so on every one of them. Does not communicate.
  void request_stop() { stage_->request_stop(); }

  /// Mean loss over the counted tokens, by a forward-only program and without dropout; training does not notice. Any
  /// number of micro-batches.
  double evaluate(model::token_batch const& batch) {
    return transport::guarded(door_, [&] {
      require_batch(batch, batch.micro_batches);
      forward(batch);
      return stage_->loss_sum() / static_cast<double>(batch.counted_tokens);
    });
  }

  /// Logits at `position` of the batch's first sequence, on every rank. The batch must be one micro-batch.
  std::vector<float> logits(model::token_batch const& batch, int position) {
    return transport::guarded(door_, [&] {
      if (batch.micro_batches != 1 || batch.sequences < 1 || position < 0 || position >= batch.sequence_length)
        throw error("weft::trainer: logits at position " + std::to_string(position) + " of a batch with " +
                    std::to_string(batch.sequences) + " sequences of " + std::to_string(batch.sequence_length) +
                    " tokens in " + std::to_string(batch.micro_batches) +
                    " micro-batches; pass one micro-batch, and a position inside");
      forward(batch);
      return stage_->logits(position);
    });
  }

  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] std::int64_t optimizer_steps() const { return optimizer_steps_; }
  /// For resuming: the step that comes next.
  void set_steps_done(std::int64_t steps, std::int64_t optimizer_steps) {
    steps_done_ = steps;
    optimizer_steps_ = optimizer_steps;
  }

  [[nodiscard]] stage_type& stage() { return *stage_; }
  [[nodiscard]] schedule::program_view program() const { return program_.view(); }
  [[nodiscard]] std::vector<topology::layer_range> const& partition() const { return layers_; }
  [[nodiscard]] auto const& engine_of_training() const { return *training_; }
  [[nodiscard]] transport::endpoint& door() { return door_; }
  [[nodiscard]] double deadline() const { return options_.deadline; }

 private:
  using engine = pipeline<stage_type, Space>;

  void build() {
    layers_ = checked_partition().ranges();
    transport::require_agreement(door_, facts(), options_.deadline);
    stage_ = std::make_unique<stage_type>(door_, layers_, rank_of_stage(), options_.extents, options_.seed,
                                          options_.deadline);
    stage_->set_optimizer(options_.optimizer);
    stage_->model().set_dropout(options_.dropout);
    training_ = std::make_unique<engine>(
        program_.view(), door_, *stage_,
        pipeline_options{.deadline = options_.deadline, .record_times = options_.record_times});
  }

  /// As asked for, or such that the slowest stage is as fast as can be. Throws where layers do not add up.
  [[nodiscard]] topology::partition checked_partition() const {
    int const stages = program_.view().stages();
    if (options_.partition.empty()) return partition_of<Model>(stages, options_.extents);
    std::vector<int> sizes;
    for (auto const& range : options_.partition) sizes.push_back(range.size());
    if (static_cast<int>(sizes.size()) != stages)
      throw error("weft::trainer: the partition names " + std::to_string(sizes.size()) + " stages, the program has " +
                  std::to_string(stages) + "; give one range of layers per stage");
    return topology::partition::of(sizes, Model::layer_count);
  }

  static void require_batch(model::token_batch const& batch, int micro_batches) {
    if (batch.micro_batches != micro_batches)
      throw error("weft::trainer: the batch is cut into " + std::to_string(batch.micro_batches) +
                  " micro-batches, the program plays " + std::to_string(micro_batches) +
                  "; set token_batch::micro_batches to that");
    if (batch.counted_tokens < 1)
      throw error("weft::trainer: the batch counts " + std::to_string(batch.counted_tokens) +
                  " tokens, so it has no mean loss; set token_batch::counted_tokens to the number of targets >= 0");
  }

  [[nodiscard]] std::vector<int> rank_of_stage() const {
    std::vector<int> ranks;
    for (int stage = 0; stage < program_.view().stages(); ++stage)
      ranks.push_back(program_.view().graph.rank_of(stage));
    return ranks;
  }

  void forward(model::token_batch const& batch) {
    auto& made = forward_[batch.micro_batches];
    if (made == nullptr) {
      auto const program = schedule::forward_program(program_.view(), batch.micro_batches);
      made = std::make_unique<engine>(program.view(), door_, *stage_, pipeline_options{.deadline = options_.deadline});
    }
    model::token_batch without_dropout = batch;
    without_dropout.training = false;
    stage_->begin_forward(without_dropout);
    made->step();
    stage_->share_losses();
  }

  /// What all ranks must have in common; the caller adds what only it knows (executable, data).
  [[nodiscard]] transport::facts facts() const {
    transport::facts all;
    for (auto const& [name, value] : options_.facts) all.add(name, value);
    std::uint64_t model = 0;
    std::string cut;
    for (auto const& range : layers_) {
      cut += (cut.empty() ? "" : ",") + std::to_string(range.last - range.first);
      for (auto const& each : stage_type::model_type::describe(range))
        model = model * 1099511628211U + random::hash(each.name) + static_cast<std::uint64_t>(each.elements());
    }
    all.add("model", Model::name());
    all.add("model (digest of its parameters)", std::to_string(model));
    all.add("precision (bytes per number)", std::to_string(sizeof(Real)));
    all.add("schedule", program_.view().name);
    all.add("micro-batches", std::to_string(program_.view().micro_batches));
    all.add("program (digest)", std::to_string(schedule::digest(program_.view())));
    all.add("layers per stage", cut);
    all.add("micro-batch", std::to_string(options_.extents.sequences_per_micro_batch) + " x " +
                               std::to_string(options_.extents.sequence_length));
    all.add("seed", std::to_string(options_.seed));
    auto const number = [](double value) {
      char text[32];
      std::snprintf(text, sizeof text, "%a", value);
      return std::string(text);
    };
    auto const& [beta1, beta2, epsilon, decay] = options_.optimizer;
    all.add("AdamW (beta1, beta2, epsilon, weight decay)",
            number(beta1) + ", " + number(beta2) + ", " + number(epsilon) + ", " + number(decay));
    auto const& rate = options_.learning_rate;
    all.add("learning rate (peak, warm-up, steps, floor)",
            number(rate.peak) + ", " + std::to_string(rate.warmup_steps) + ", " + std::to_string(rate.total_steps) +
                ", " + number(rate.floor));
    all.add("clip", number(options_.clip));
    all.add("dropout", number(options_.dropout));
    for (auto const& [name, value] : execution::build_facts<Space>()) all.add(name, value);
    return all;
  }

  transport::endpoint& door_;
  trainer_options options_;
  schedule::program program_;
  std::vector<topology::layer_range> layers_;
  std::unique_ptr<stage_type> stage_;
  std::unique_ptr<engine> training_;
  std::map<int, std::unique_ptr<engine>> forward_;
  std::int64_t steps_done_ = 0;
  std::int64_t optimizer_steps_ = 0;
};

}  // namespace weft::inline v1::train

namespace weft::inline v1 {
using train::trainer;
}
