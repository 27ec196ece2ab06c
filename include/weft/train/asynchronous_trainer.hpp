// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/precision.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/forward_program.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/asynchronous_stage.hpp>
#include <weft/train/common_facts.hpp>
#include <weft/train/start.hpp>
#include <weft/train/trainer.hpp>
#include <weft/train/trainer_options.hpp>
#include <weft/train/window_plan.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// What a step of an asynchronous run tells, on every rank. `is_skipped`: some stage left its weights as they were;
/// `gradient_norm`: of what the step applied (see asynchronous_stage).
struct asynchronous_result : step_result {
  std::vector<int> skipped_stages;  ///< whose gradient was not finite
};

/// Trains one model where the pipeline never drains: PipeDream, PipeDream-2BW. Every stage steps in its own time, with
/// a gradient of older weights:
///
///     W(k+1) = W(k) - lr grad(W(max(0, k - w)))      w: how old, by the schedule and the stage (window_plan.hpp)
///
/// `run` plays a window of steps. From the first step of a run to its last this formula holds whatever the windows,
/// since stages keep over a window's end the weights that later steps read, the gradients of tied parameters and the
/// norms that later steps wait for. Evaluation, saving (asynchronous_state.hpp) and going on with a flushing schedule
/// (hand_over.hpp) happen between windows, with the newest weights.
///
/// Construction, `run`, `evaluate` and `logits` are collective; each rank passes the same batches.
template <class Model, class Real = float, class Space = Kokkos::DefaultExecutionSpace>
class asynchronous_trainer {
 public:
  using stage_type = asynchronous_stage<Model, Real, Space>;
  using real = typename stage_type::store_type::weight;  ///< of weights and moments, as they are saved

  /// Refuses, on every rank, ranks that disagree, and a plan with several stages on a rank.
  asynchronous_trainer(window_plan plan, transport::endpoint& door, trainer_options options,
                       clip_policy clipping = clip_policy::per_stage)
      : door_(door),
        options_(std::move(options)),
        plan_(std::move(plan)),
        clipping_(clipping),
        ranks_{door} {
    transport::guarded(door_, [&] { build(); });
  }
  asynchronous_trainer(asynchronous_trainer const&) = delete;
  asynchronous_trainer& operator=(asynchronous_trainer const&) = delete;
  ~asynchronous_trainer() = default;

  /// Plays one window, a step for each batch; all of them are cut into the plan's micro-batches. The results come in
  /// the order of the steps. An exception on any rank ends the window, and with it the trainer, on all of them.
  std::vector<asynchronous_result> run(std::span<model::token_batch const> batches) {
    return transport::guarded(door_, [&] {
      std::vector<asynchronous_result> results;
      if (batches.empty()) return results;
      std::vector<double> rates;
      for (auto const& each : batches) {
        require_batch(each);
        rates.push_back(options_.learning_rate(steps_done_ + static_cast<std::int64_t>(rates.size())));
      }
      engine& window = window_of(static_cast<int>(batches.size()));
      stage_->begin_window(batches, rates, steps_done_ - begun_at_);
      window.step();
      auto const told = stage_->finish_window();
      for (std::size_t step = 0; step < told.size(); ++step) {
        asynchronous_result each;
        each.tokens = batches[step].counted_tokens;
        each.loss = told[step].loss_sum / static_cast<double>(each.tokens);
        each.gradient_norm = told[step].gradient_norm;
        each.learning_rate = rates[step];
        each.skipped_stages = told[step].skipped_stages;
        each.is_skipped = !each.skipped_stages.empty();
        each.is_stop_requested = stage_->is_stop_requested();
        if (!each.is_skipped) ++optimizer_steps_;
        results.push_back(std::move(each));
      }
      steps_done_ += static_cast<std::int64_t>(batches.size());
      return results;
    });
  }

  /// Asks all ranks to stop: the results of the next window say so on every one of them. Does not communicate.
  void request_stop() { stage_->request_stop(); }

  /// Mean loss over the counted tokens with the newest weights, without dropout. Any number of micro-batches.
  double evaluate(model::token_batch const& batch) {
    return transport::guarded(door_, [&] {
      forward(batch);
      return stage_->share_losses() / static_cast<double>(batch.counted_tokens);
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
  /// Steps in which every stage changed its weights.
  [[nodiscard]] std::int64_t optimizer_steps() const { return optimizer_steps_; }
  /// Goes on from a run under another schedule after so many steps: the present weights are the oldest that will be
  /// read. See asynchronous_state.hpp for a run that goes on with what it carried.
  void set_steps_done(std::int64_t steps, std::int64_t optimizer_steps) {
    resume(steps, optimizer_steps, steps);
    stage_->applied() = optimizer_steps;
    for (std::size_t index = 0; index < stage_->tied_groups(); ++index) stage_->tied_applied(index) = optimizer_steps;
  }
  /// The step that comes next; of those before, how many changed all weights; the step at which this schedule took
  /// over.
  void resume(std::int64_t steps, std::int64_t optimizer_steps, std::int64_t begun_at) {
    steps_done_ = steps;
    optimizer_steps_ = optimizer_steps;
    begun_at_ = begun_at;
  }
  [[nodiscard]] std::int64_t begun_at() const { return begun_at_; }

  /// Steps whose weights the next window still reads: as many as there have been, and no more than it can use.
  [[nodiscard]] int steps_before() const {
    return static_cast<int>(std::min<std::int64_t>(steps_done_ - begun_at_, plan_.oldest_read));
  }

  [[nodiscard]] stage_type& stage() { return *stage_; }
  [[nodiscard]] window_plan const& plan() const { return plan_; }
  [[nodiscard]] std::vector<int> const& weight_versions() const { return versions_; }
  /// Of the window that ran last, or one that could run next.
  [[nodiscard]] schedule::program_view program() const { return program_.view(); }
  [[nodiscard]] std::vector<topology::layer_range> const& partition() const { return layers_; }
  [[nodiscard]] auto const& engine_of_training() const { return *latest_; }
  [[nodiscard]] transport::endpoint& door() { return door_; }
  [[nodiscard]] double deadline() const { return options_.deadline; }

  // One pipeline, as state.hpp asks.
  struct one_pipeline {
    transport::endpoint& door;
    [[nodiscard]] int index() const { return 0; }
    [[nodiscard]] int count() const { return 1; }
    [[nodiscard]] int copies() const { return 1; }
    [[nodiscard]] transport::endpoint& pipeline() const { return door; }
    [[nodiscard]] transport::endpoint& world() const { return door; }
  };
  [[nodiscard]] one_pipeline const& ranks() const { return ranks_; }
  void require_equal_replicas() const {}
  [[nodiscard]] std::vector<transport::card> const& cards() const { return cards_; }
  /// For people: which rank holds which layers on which device.
  [[nodiscard]] std::string device_map() const {
    return transport::card_table(cards_,
                                 held_by_ranks(pipelines_of(plan_.ranks, plan_.ranks), program_.view().graph, layers_));
  }

 private:
  using engine = pipeline<stage_type, Space>;

  void build() {
    if (plan_.ranks != door_.size())
      throw error("weft::trainer: " + plan_.name + " is planned for " + std::to_string(plan_.ranks) +
                      " ranks, and there are " + std::to_string(door_.size()) +
                      "; launch as many: asynchronous schedules have no data axis",
                  {.rank = door_.rank()});
    if (options_.gradient_groups != 1 || topology::extent_of<topology::data>(options_.mesh) > 1)
      throw error("weft::trainer: " + plan_.name +
                      " trains one pipeline with one group of gradients; leave gradient_groups and the data axis at 1",
                  {.rank = door_.rank()});
    if (options_.norm != schedule::norm_kind::synchronous)
      throw error("weft::trainer: under " + plan_.name +
                      " no rank waits for a norm, so there is none to validate afterwards; leave trainer_options::norm "
                      "as it is",
                  {.rank = door_.rank()});
    options_.scaling = options_.scaling.checked(has_float16<Real>);
    if (options_.scaling.how == loss_scaling::kind::dynamic)
      throw error("weft::trainer: under " + plan_.name +
                      " stages step before any rank knows whether all gradients are finite, so the loss scale cannot "
                      "follow them; set trainer_options::scaling to loss_scaling::fixed(1024), or compute in bfloat16",
                  {.rank = door_.rank()});
    program_ = schedule::make_program(plan_.table(0, (std::max)(1, plan_.oldest_read)).view(), plan_.lowering);
    require_windows(program_.view());
    layers_ = checked_partition().ranges();
    versions_ = plan_.weight_versions();
    cards_ = meet<Space>(door_, facts(), options_.build, {}, options_.mixed, false, options_.deadline);
    stage_ = std::make_unique<stage_type>(door_, layers_, versions_, options_.extents, options_.seed, plan_.delay(),
                                          clipping_, options_.deadline);
    stage_->set_optimizer(options_.optimizer, options_.clip);
    stage_->set_loss_scale(options_.scaling.first);
    stage_->model().set_dropout(options_.dropout);
    stage_->model().set_math_mode(options_.products);
    stage_->model().set_capture(options_.capture);
  }

  /// Throws where the table is not one that this trainer understands.
  void require_windows(schedule::program_view const& table) const {
    auto const refuse = [&](std::string const& what) {
      throw error("weft::trainer: the table of " + plan_.name + " " + what, {.rank = door_.rank()});
    };
    if (!table.work.asynchronous) refuse("has one step at its end; train it with weft::trainer");
    if (table.stages() != table.ranks() || table.graph.copies != 1)
      refuse("has " + std::to_string(table.stages() * table.graph.copies) + " stages on " +
             std::to_string(table.ranks()) + " ranks; give each rank one");
    for (int rank = 0; rank < table.ranks(); ++rank) {
      if (table.graph.rank_of(rank) != rank)
        refuse("has stage " + std::to_string(rank) + " on rank " + std::to_string(table.graph.rank_of(rank)) +
               "; place stages in the order of the ranks");
      int done = 0;
      for (schedule::action const& each : table.row(rank)) {
        if (each.what == schedule::op::backward || each.what == schedule::op::backward_weight) ++done;
        if (each.what != schedule::op::step) continue;
        if (done != plan_.micro_batches)
          refuse("has a STEP of stage " + std::to_string(rank) + " after " + std::to_string(done) +
                 " micro-batches; put one after every " + std::to_string(plan_.micro_batches));
        done = 0;
      }
    }
  }

  [[nodiscard]] topology::partition checked_partition() const {
    if (options_.partition.empty() && !options_.capacities.empty()) {
      // The oldest weights are read where a window has all the steps before it that it may read.
      auto const window =
          schedule::make_program(plan_.table(plan_.oldest_read, 2 * plan_.oldest_read + 2).view(), plan_.lowering);
      return partition_of<Model, Real>(window.view(), options_.extents, options_.capacities);
    }
    if (options_.partition.empty()) return partition_of<Model>(plan_.ranks, options_.extents);
    std::vector<int> sizes;
    for (auto const& range : options_.partition) sizes.push_back(range.size());
    if (static_cast<int>(sizes.size()) != plan_.ranks)
      throw error("weft::trainer: the partition names " + std::to_string(sizes.size()) + " stages, the plan has " +
                  std::to_string(plan_.ranks) + "; give one range of layers per stage");
    return topology::partition::of(sizes, Model::layer_count);
  }

  void require_batch(model::token_batch const& batch) const {
    if (batch.micro_batches != plan_.micro_batches)
      throw error("weft::trainer: the batch is cut into " + std::to_string(batch.micro_batches) +
                  " micro-batches, a step of " + plan_.name + " plays " + std::to_string(plan_.micro_batches) +
                  "; set token_batch::micro_batches to that");
    if (batch.counted_tokens < 1)
      throw error("weft::trainer: the batch counts " + std::to_string(batch.counted_tokens) +
                  " tokens, so it has no mean loss; set token_batch::counted_tokens to the number of targets >= 0");
  }

  /// Windows of the same beginning and length are the same program; a run has few kinds, and soon one beginning.
  engine& window_of(int steps) {
    int const before = steps_before();
    if (before != windows_before_) {
      windows_.clear();
      latest_ = nullptr;
      windows_before_ = before;
    }
    auto& made = windows_[steps];
    if (made == nullptr) {
      program_ = schedule::make_program(plan_.table(before, steps).view(), plan_.lowering);
      require_windows(program_.view());
      int const kept = versions_[static_cast<std::size_t>(door_.rank())];
      if (int const read = schedule::oldest_read(program_.view(), door_.rank()); read >= kept)
        throw error("weft::trainer: a window of " + plan_.name + " reads weights of " + std::to_string(read) +
                        " STEPs before, and rank " + std::to_string(door_.rank()) + " keeps " + std::to_string(kept) +
                        " versions; correct the plan's oldest_read",
                    {.rank = door_.rank()});
      made = std::make_unique<engine>(
          program_.view(), door_, *stage_,
          pipeline_options{.deadline = options_.deadline, .record_times = options_.record_times});
    }
    latest_ = made.get();
    return *made;
  }

  void forward(model::token_batch batch) {
    if (batch.micro_batches < 1 || batch.sequences < 0 || batch.counted_tokens < 1)
      throw error("weft::trainer: a batch of " + std::to_string(batch.sequences) + " sequences in " +
                  std::to_string(batch.micro_batches) + " micro-batches, of which " +
                  std::to_string(batch.counted_tokens) +
                  " tokens count, cannot be evaluated; name at least one of each");
    auto& made = forward_[batch.micro_batches];
    if (made == nullptr) {
      auto const program = schedule::forward_program(program_.view(), batch.micro_batches, door_.keeps_issue_order());
      made = std::make_unique<engine>(program.view(), door_, *stage_, pipeline_options{.deadline = options_.deadline});
    }
    batch.training = false;
    batch.groups = 1;
    stage_->begin_forward(batch);
    made->step();
  }

  [[nodiscard]] transport::facts facts() const {
    transport::facts all;
    detail::add_model_facts<Model, Real, typename stage_type::model_type>(all, options_, layers_);
    all.add("schedule", plan_.name);
    all.add("micro-batches of a step", std::to_string(plan_.micro_batches));
    detail::add_settings_facts(all, options_, layers_, program_.view());
    all.add("clip", detail::exactly(options_.clip) + " " + to_text(clipping_));
    all.add("dropout", detail::exactly(options_.dropout));
    return all;
  }

  transport::endpoint& door_;
  trainer_options options_;
  window_plan plan_;
  clip_policy clipping_;
  one_pipeline ranks_;
  schedule::program program_;
  std::vector<topology::layer_range> layers_;
  std::vector<transport::card> cards_;
  std::vector<int> versions_;
  std::unique_ptr<stage_type> stage_;
  std::map<int, std::unique_ptr<engine>> windows_;  // by their steps
  int windows_before_ = 0;                          // steps before all of them
  engine* latest_ = nullptr;
  std::map<int, std::unique_ptr<engine>> forward_;
  std::int64_t steps_done_ = 0;
  std::int64_t optimizer_steps_ = 0;
  std::int64_t begun_at_ = 0;  // the step at which this schedule took over: older weights do not exist
};

}  // namespace weft::inline v1::train

namespace weft::inline v1 {
using train::asynchronous_trainer;
}
