// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Longer than most headers: the one place where program, mesh, model, optimizer and saved state meet, checked at the
/// start.

#include <weft/collective/all_reduce.hpp>
#include <weft/concepts/collective_policy.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/precision.hpp>
#include <weft/plan/proof.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/schedule/forward_program.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/schedule/passes/post_validate.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/common_facts.hpp>
#include <weft/train/learning_rate.hpp>
#include <weft/train/loss_scale.hpp>
#include <weft/train/replica.hpp>
#include <weft/train/replica_digest.hpp>
#include <weft/train/start.hpp>
#include <weft/train/trainer_options.hpp>
#include <weft/train/training_stage.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// What a step tells, on every rank.
struct step_result {
  std::int64_t step = -1;      ///< which one, from 0; -1: none, the rest means nothing (see `trainer::step`)
  double loss = 0.0;           ///< mean over the counted tokens, in nats
  std::int64_t tokens = 0;     ///< counted tokens of the batch
  double gradient_norm = 0.0;  ///< over all parameters, before clipping
  double learning_rate = 0.0;
  double loss_scale = 1.0;         ///< that this step's gradients were computed with
  bool is_skipped = false;         ///< the norm was not finite: no rank has changed a weight
  bool is_stop_requested = false;  ///< some rank has called `request_stop`
  bool is_redone = false;          ///< post-validated: some rank had stepped by other numbers, and all began anew
};

/// Trains one model under one program, on as many pipelines as there are times its ranks: data parallelism. A batch is
/// cut into one part per pipeline (sizes differ by at most one sequence), each part into the program's micro-batches;
/// gradients are summed over the pipelines while the last stages still run, and all pipelines make the same step. Where
/// a pipeline holds the model twice (DualPipe, Chimera), each copy has a part of its own, in the same way.
///
/// The bits of a data-parallel run are those of `gradient_groups` on fewer ranks, with the same `reduction`; those of
/// P pipelines with two copies are those of 2 P groups.
/// A template on model, precision and execution space only: schedules, meshes and
/// transports are data to it. `Real` is a type of numbers or a `precision` (plan/precision.hpp): `bf16_mixed`.
///
/// Construction, `step`, `evaluate` and `logits` are collective over the endpoint's ranks, and so is destruction where
/// the MPI library reduces; each rank passes the same batch, of which it reads its part.
template <class Model, class Real = float, class Space = Kokkos::DefaultExecutionSpace>
class trainer {
 public:
  using stage_type = training_stage<Model, Real, Space>;
  using real = typename stage_type::store_type::weight;  ///< of weights and moments, as they are saved

  /// `training` must be lowered, and with `reduce_over_data` where there is more than one pipeline. Refuses, on every
  /// rank, ranks that disagree about model, program, options or build.
  trainer(schedule::program training, transport::endpoint& door, trainer_options options)
      : door_(door),
        options_(std::move(options)),
        program_(std::move(training)) {
    transport::guarded(door_, [&] { build(); });
  }

  /// The same from a plan: with its partition (`stage_layers`, `rank_speeds`), and refused where it would exceed its
  /// `memory_limit`.
  template <class Plan>
    requires requires { Plan::known_while_compiling; }
  trainer(Plan const&, transport::endpoint& door, trainer_options options)
      : door_(door),
        options_(std::move(options)),
        program_(Plan::program(door.size())) {
    options_.mesh = Plan::mesh_policy::shape(door.size());
    if constexpr (collective_policy<typename Plan::reduction>)
      options_.reduction = collective::all_reduce_choice::of<typename Plan::reduction>();
    else
      options_.reduction = collective::all_reduce_choice(Plan::reduction::name);
    if constexpr (Plan::layers::stages > 0)
      options_.partition =
          topology::partition::of(Plan::layers::sizes, Plan::layers::stages, Model::layer_count).ranges();
    if constexpr (Plan::speeds::ranks > 0)
      options_.capacities.speeds.assign(Plan::speeds::values, Plan::speeds::values + Plan::speeds::ranks);
    options_.mixed.vendors.assign(Plan::vendors::values, Plan::vendors::values + Plan::vendors::ranks);
    options_.mixed.over_data = options_.mixed.over_data || Plan::mixes_over_data;
    options_.mixed.several_builds = options_.mixed.several_builds || Plan::vendors::is_mixed || Plan::mixes_over_data;
    transport::guarded(door_, [&] {
      if (Plan::memory_limit > 0)
        check_memory<Model, Real>(program_.view(), checked_partition(), options_.extents, Plan::memory_limit,
                                  options_.gradient_groups);
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
  ///
  /// Where steps are validated afterwards, it tells of the step before, and the first call of none: a step counts once
  /// every rank has heard of its norm, which is in the middle of the next one. `settle` ends the last one.
  step_result step(model::token_batch const& batch) {
    return transport::guarded(door_, [&] {
      int const micro_batches = program_.view().micro_batches;
      require_batch(batch, micro_batches);
      compare_replicas();
      step_result result;
      result.step = steps_done_;
      result.learning_rate = options_.learning_rate(steps_done_);
      result.tokens = batch.counted_tokens;
      model::token_batch part = batch;
      if (ranks_->count() > 1)  // cut into groups first, of which each pipeline has one per copy of the model
        part = part_of(
            batch,
            model::group_range(batch.sequences, ranks_->count() * copies(), ranks_->index() * copies(), copies()),
            micro_batches);
      part.groups = options_.gradient_groups * copies();
      part.copies = copies();
      stage_->begin_training(part, result.learning_rate, options_.clip, optimizer_steps_ + 1);
      training_->step();
      if (is_post_validated()) {
        close();
        stage_->commit();  // for now
        open_ = result;
        ++steps_done_;
        return std::exchange(settled_, {});
      }
      result.loss = stage_->loss_sum() / static_cast<double>(batch.counted_tokens);
      result.gradient_norm = stage_->gradient_norm();
      result.loss_scale = stage_->used_loss_scale();
      result.is_skipped = !stage_->commit();
      result.is_stop_requested = stage_->is_stop_requested();
      ++steps_done_;
      if (!result.is_skipped) ++optimizer_steps_;
      return result;
    });
  }

  /// Ends the last step where steps are validated afterwards, and returns what `step` has not told yet, an empty result
  /// where that is nothing. To be called before the trainer is destroyed. Evaluation, logits and saving do the same,
  /// and leave the result for later. Collective.
  step_result settle() {
    return transport::guarded(door_, [&] {
      finish_open_step();
      return std::exchange(settled_, {});
    });
  }

  /// Asks all ranks to stop: the next step's result says so on every one of them. Does not communicate.
  void request_stop() { stage_->request_stop(); }

  /// Mean loss over the counted tokens, by a forward-only program and without dropout; training does not notice. Any
  /// number of micro-batches.
  double evaluate(model::token_batch const& batch) {
    return transport::guarded(door_, [&] {
      require_batch(batch, batch.micro_batches);
      finish_open_step();
      // Each pipeline plays some of the micro-batches; their losses are added in the batch's own order.
      auto const mine = model::micro_batch_range(batch.micro_batches, ranks_->count(), ranks_->index());
      auto const first = model::micro_batch_range(batch.sequences, batch.micro_batches, mine.first).first;
      auto const last = model::micro_batch_range(batch.sequences, batch.micro_batches, mine.first + mine.count - 1);
      if (mine.count > 0)
        forward(part_of(batch, {first, last.first + last.count - first}, mine.count), batch.micro_batches, mine.first);
      else
        stage_->begin_forward(part_of(batch, {0, 0}, 1), batch.micro_batches, batch.micro_batches - 1);
      stage_->share_losses();
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
      finish_open_step();
      forward(part_of(batch, {0, batch.sequences}, 1), 1, 0);  // in every pipeline
      return stage_->logits(position);
    });
  }

  /// Throws, on all ranks, unless all replicas and copies hold the same bits now. Collective; nothing to do on one
  /// pipeline with one copy of the model.
  void require_equal_replicas() {
    finish_open_step();
    if (ranks_->holders() == nullptr) return;
    train::require_equal_replicas(*ranks_->holders(), stage_->store(), stage_->space(), steps_done_, options_.deadline);
  }

  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] std::int64_t optimizer_steps() const { return optimizer_steps_; }
  /// For resuming: the step that comes next.
  void set_steps_done(std::int64_t steps, std::int64_t optimizer_steps) {
    require_settled();
    steps_done_ = steps;
    optimizer_steps_ = optimizer_steps;
  }

  /// What the next step's loss will be multiplied by. After `settle` where steps are validated afterwards.
  [[nodiscard]] loss_scale_state loss_scale() const { return stage_->loss_scale(); }
  /// Whether it changes, so that a run that is to go on needs it.
  [[nodiscard]] bool has_dynamic_loss_scale() const { return options_.scaling.how == loss_scaling::kind::dynamic; }
  /// For resuming. Nothing to do where the scale is not dynamic. Throws where it is no power of two from 1 to 2^30.
  void set_loss_scale(loss_scale_state const& state) {
    require_settled();
    if (!loss_scaling::is_scale(state.scale) || state.counted < 0)
      throw error("weft::trainer: a run cannot go on with the loss scale " + std::to_string(state.scale) + " after " +
                      std::to_string(state.counted) +
                      " counted steps; hand over what loss_scale() gave, a power of two from 1 to 2^30",
                  {.rank = door_.rank()});
    if (has_dynamic_loss_scale()) stage_->set_loss_scale(options_.scaling, state);
  }

  /// PARTIAL_NORM and VALIDATE in the program: results come one step later.
  [[nodiscard]] bool is_post_validated() const { return program_.view().work.post_validated; }
  /// Throws where a step waits for its validation. Does not communicate.
  void require_settled() const {
    if (open_)
      throw error("weft::trainer: step " + std::to_string(open_->step) +
                      " is not validated yet, so its weights may still change; call settle() on every rank first",
                  {.rank = door_.rank()});
  }

  [[nodiscard]] stage_type& stage() { return *stage_; }
  [[nodiscard]] schedule::program_view program() const { return program_.view(); }
  [[nodiscard]] std::vector<topology::layer_range> const& partition() const { return layers_; }
  [[nodiscard]] auto const& engine_of_training() const { return *training_; }
  [[nodiscard]] transport::endpoint& door() { return door_; }
  /// This rank's pipeline among those of the job.
  [[nodiscard]] replica const& ranks() const { return *ranks_; }
  [[nodiscard]] double deadline() const { return options_.deadline; }
  /// What every rank of the job is, by rank.
  [[nodiscard]] std::vector<transport::card> const& cards() const { return cards_; }
  /// For people: which rank holds which layers on which device.
  [[nodiscard]] std::string device_map() const {
    return transport::card_table(cards_, held_by_ranks(options_.mesh, program_.view().graph, layers_));
  }

 private:
  using engine = pipeline<stage_type, Space>;

  void build() {
    if (options_.norm == schedule::norm_kind::post_validated) post_validate();
    require_mesh();
    options_.scaling = options_.scaling.checked(has_float16<Real>);
    layers_ = checked_partition().ranges();
    cards_ = meet<Space>(door_, facts(), options_.build, holders_of_stages(options_.mesh, program_.view().graph),
                         options_.mixed, options_.compare_replicas_every > 0, options_.deadline);
    using sums = collective::all_reduce_choice::kind_type;
    auto const how = options_.reduction.kind();
    ranks_ = std::make_unique<replica>(door_, options_.mesh, how == sums::mpi || how == sums::device_library,
                                       program_.view().graph,
                                       how == sums::device_library ? Space::memory_space::name() : "");
    if (how == sums::vendor_hierarchy)
      ranks_->group_by_vendor(Space::memory_space::name(), !execution::is_host_space<Space>, options_.deadline);
    else if (how == sums::step_list)
      ranks_->agree_on_memory(Space::memory_space::name(), !execution::is_host_space<Space>, options_.deadline);
    stage_ = std::make_unique<stage_type>(*ranks_, layers_, program_.view().graph, options_.extents, options_.seed,
                                          options_.deadline, options_.gradient_groups, options_.reduction);
    stage_->set_optimizer(options_.optimizer);
    stage_->set_loss_scale(options_.scaling, {.scale = options_.scaling.first});
    stage_->model().set_dropout(options_.dropout);
    stage_->model().set_math_mode(options_.products);
    stage_->set_capture(options_.capture);
    if (is_post_validated())
      stage_->post_validate(program_.view().micro_batches * ranks_->count(),
                            options_.speculates == speculation::always);
    training_ = std::make_unique<engine>(
        program_.view(), ranks_->pipeline(), *stage_,
        pipeline_options{.deadline = options_.deadline, .record_times = options_.record_times});
  }

  /// Of a program that was lowered with NORM.
  void post_validate() {
    if (is_post_validated()) return;
    auto validated = schedule::passes::post_validate(program_.view());
    auto const found = schedule::play(validated.view());
    if (!validated.view().work.post_validated || !found.playable())
      throw error(
          "weft::trainer: the program '" + std::string(program_.view().name) +
              "' cannot be validated afterwards: " + (found.playable() ? "it has no NORM" : schedule::explain(found)) +
              "; lower it with norm_kind::post_validated, or leave trainer_options::norm at synchronous",
          {.rank = door_.rank()});
    program_ = std::move(validated);
  }

  /// The step before has been validated: what it tells.
  void close() {
    if (!open_) return;
    auto const& whole = stage_->validated();
    open_->loss = whole.loss_sum / static_cast<double>(open_->tokens);
    open_->gradient_norm = whole.norm;
    open_->loss_scale = whole.loss_scale;
    open_->is_skipped = whole.is_skipped;
    open_->is_stop_requested = whole.is_stop_requested;
    open_->is_redone = whole.is_redone;
    if (!whole.is_skipped) ++optimizer_steps_;
    settled_ = *open_;
    open_.reset();
  }

  /// Collective over the pipeline where a step is open.
  void finish_open_step() {
    if (!open_) return;
    stage_->settle();
    stage_->finish_validation();
    close();
  }

  /// Throws where ranks, program and gradient groups do not go together.
  void require_mesh() {
    auto const program = program_.view();
    if (program.work.asynchronous)
      throw error("weft::trainer: the program '" + std::string(program.name) +
                      "' steps between its backwards, and this trainer has one step at the end; train it with "
                      "weft::asynchronous_trainer",
                  {.rank = door_.rank()});
    if (options_.mesh.axes == 0) {
      if (!program.work.reduces_over_data && program.ranks() != door_.size())
        throw error("weft::trainer: the program is for " + std::to_string(program.ranks()) + " ranks, but there are " +
                        std::to_string(door_.size()) +
                        "; launch as many, or lower it with reduce_over_data to train on several pipelines",
                    {.rank = door_.rank()});
      options_.mesh = pipelines_of(program.ranks(), door_.size());
    }
    int const pipelines = topology::extent_of<topology::data>(options_.mesh);
    if (options_.mesh.ranks() != door_.size() ||
        topology::extent_of<topology::pipeline>(options_.mesh) != program.ranks() ||
        pipelines * program.ranks() != door_.size())
      throw error("weft::trainer: a program for " + std::to_string(program.ranks()) + " ranks on " +
                      std::to_string(pipelines) + " data ranks needs " + std::to_string(pipelines * program.ranks()) +
                      " ranks in all, and there are " + std::to_string(door_.size()) +
                      "; give the mesh a pipeline and a data axis that multiply to that",
                  {.rank = door_.rank()});
    if (pipelines > 1 && !program.work.reduces_over_data)
      throw error("weft::trainer: " + std::to_string(pipelines) +
                      " data ranks would drift apart, since the program does not reduce over them; lower it with "
                      "reduce_over_data",
                  {.rank = door_.rank()});
    if (copies() > 1 && !program.work.reduces_over_copies)
      throw error("weft::trainer: the " + std::to_string(copies()) +
                      " copies of the model would drift apart, since the program does not reduce over them; lower it "
                      "with reduce_over_copies",
                  {.rank = door_.rank()});
    if (copies() > 1 && options_.gradient_groups != 1)
      throw error("weft::trainer: " + std::to_string(options_.gradient_groups) +
                      " gradient groups for a program with " + std::to_string(copies()) +
                      " copies of the model, each of which has a group of its own; leave gradient_groups at 1",
                  {.rank = door_.rank()});
    if (is_post_validated() && copies() > 1 && pipelines > 1)
      throw error("weft::trainer: post-validation of a program with two copies of the model on " +
                      std::to_string(pipelines) +
                      " data ranks is not possible, since no one rank of a pipeline holds the other pipelines' losses; "
                      "use one data rank, or norm_kind::synchronous",
                  {.rank = door_.rank()});
    int const groups = options_.gradient_groups;
    if (groups < 1 || (groups > 1 && pipelines > 1) || program.micro_batches % groups != 0)
      throw error("weft::trainer: " + std::to_string(groups) + " gradient groups for " +
                      std::to_string(program.micro_batches) + " micro-batches on " + std::to_string(pipelines) +
                      " data ranks; with one data rank use a divisor of the micro-batches, with more leave it at 1",
                  {.rank = door_.rank()});
  }

  /// Every so many steps, and before the first one: replicas that drift apart are found here. Collective.
  void compare_replicas() {
    bool const is_due =
        options_.compare_replicas_every > 0 && (!is_compared_ || steps_done_ % options_.compare_replicas_every == 0);
    if (!is_due) return;
    is_compared_ = true;
    require_equal_replicas();
  }

  /// As asked for, or such that the slowest stage is as fast as can be. Throws where layers do not add up.
  [[nodiscard]] topology::partition checked_partition() const {
    int const stages = program_.view().stages();
    if (options_.partition.empty() && !options_.capacities.empty())
      return partition_of<Model, Real>(program_.view(), options_.extents, options_.capacities,
                                       options_.gradient_groups);
    if (options_.partition.empty()) return partition_of<Model>(stages, options_.extents);
    std::vector<int> sizes;
    for (auto const& range : options_.partition) sizes.push_back(range.size());
    if (static_cast<int>(sizes.size()) != stages)
      throw error("weft::trainer: the partition names " + std::to_string(sizes.size()) + " stages, the program has " +
                  std::to_string(stages) + "; give one range of layers per stage");
    return topology::partition::of(sizes, Model::layer_count);
  }

  static void require_batch(model::token_batch const& batch, int micro_batches) {
    if (batch.micro_batches < 1 || batch.sequences < 0)
      throw error("weft::trainer: a batch of " + std::to_string(batch.sequences) + " sequences cannot be cut into " +
                  std::to_string(batch.micro_batches) + " micro-batches; name at least one");
    if (batch.micro_batches != micro_batches)
      throw error("weft::trainer: the batch is cut into " + std::to_string(batch.micro_batches) +
                  " micro-batches, the program plays " + std::to_string(micro_batches) +
                  "; set token_batch::micro_batches to that");
    if (batch.counted_tokens < 1)
      throw error("weft::trainer: the batch counts " + std::to_string(batch.counted_tokens) +
                  " tokens, so it has no mean loss; set token_batch::counted_tokens to the number of targets >= 0");
  }

  /// Of the model, in each pipeline.
  [[nodiscard]] int copies() const { return program_.view().graph.copies; }

  /// Plays a part of a batch: micro-batches [first, first + batch.micro_batches) of `micro_batches`.
  void forward(model::token_batch batch, int micro_batches, int first) {
    auto& made = forward_[batch.micro_batches];
    if (made == nullptr) {
      auto const program = schedule::forward_program(program_.view(), batch.micro_batches, door_.keeps_issue_order());
      made = std::make_unique<engine>(program.view(), ranks_->pipeline(), *stage_,
                                      pipeline_options{.deadline = options_.deadline});
    }
    batch.training = false;
    stage_->begin_forward(batch, micro_batches, first);
    made->step();
  }

  /// What all ranks must have in common; the caller adds what only it knows (executable, data).
  [[nodiscard]] transport::facts facts() const {
    transport::facts all;
    detail::add_model_facts<Model, Real, typename stage_type::model_type>(all, options_, layers_);
    all.add("schedule", program_.view().name);
    all.add("micro-batches", std::to_string(program_.view().micro_batches));
    all.add("data ranks", std::to_string(topology::extent_of<topology::data>(options_.mesh)));
    std::string mesh;
    for (int axis = 0; axis < options_.mesh.axes; ++axis)
      mesh += (axis == 0 ? "" : ", ") + std::string(options_.mesh.name[axis]) + " " +
              std::to_string(options_.mesh.extent[axis]) + " in steps of " + std::to_string(options_.mesh.stride[axis]);
    all.add("mesh", mesh);
    all.add("reduction over the data axis", options_.reduction.name());
    all.add("gradient groups", std::to_string(options_.gradient_groups));
    all.add("comparison of replicas every", std::to_string(options_.compare_replicas_every));
    detail::add_settings_facts(all, options_, layers_, program_.view());
    all.add("clip", detail::exactly(options_.clip));
    all.add("speculation", options_.speculates == speculation::always ? "always" : "while unclipped");
    all.add("dropout", detail::exactly(options_.dropout));
    return all;
  }

  transport::endpoint& door_;
  trainer_options options_;
  schedule::program program_;
  std::vector<topology::layer_range> layers_;
  std::vector<transport::card> cards_;
  std::unique_ptr<replica> ranks_;
  std::unique_ptr<stage_type> stage_;
  std::unique_ptr<engine> training_;
  std::map<int, std::unique_ptr<engine>> forward_;
  std::int64_t steps_done_ = 0;
  std::int64_t optimizer_steps_ = 0;
  bool is_compared_ = false;
  std::optional<step_result> open_;  ///< post-validated: made, and not validated
  step_result settled_;              ///< validated, and not told
};

}  // namespace weft::inline v1::train

namespace weft::inline v1 {
using train::trainer;
}
