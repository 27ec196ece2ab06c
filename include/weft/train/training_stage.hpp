// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Longer than most headers: REDUCE_GRAD, NORM, VALIDATE and STEP share one message and the slots of one store.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/graph.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/parameters/parameter_store.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>
#include <weft/topology/stage_graph.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/gradient_reduction.hpp>
#include <weft/train/loss_scale.hpp>
#include <weft/train/norm_blocks.hpp>
#include <weft/train/post_validation.hpp>
#include <weft/train/replica.hpp>
#include <weft/train/tied_gradients.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>
#include <weft/transport/run_collective.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// A model stage that also knows the three actions at the end of a training program: REDUCE_GRAD, NORM and STEP.
///
/// NORM adds the squares of all gradients in (name, block of 65,536 elements) order, in double: one rank computes each
/// block, an all-reduce adds zeros to it, and every rank adds the blocks in the same order. No split over ranks can
/// change a bit of it. Tied parameters count once, replicas and copies of the model too.
///
/// Where a pipeline holds the model twice, a rank has one stage of each copy; their numbers differ, so that nothing
/// below the engine needs to know of copies.
template <class Model, class Real, class Space>
class training_stage {
 public:
  using model_type = model::model_stage<Model, Real, Space>;
  using views = boundary_views<typename Space::memory_space>;
  using context = stage_context<Space>;
  using store_type = parameters::parameter_store<Real, Space>;

  /// `ranks` must outlive it; `graph` is only read here. `gradient_groups` and `reduction`: see trainer_options. Does
  /// not communicate.
  training_stage(replica const& ranks, std::vector<topology::layer_range> const& layers,
                 topology::stage_graph_view const& graph, model::extents const& extents, std::uint64_t seed,
                 double deadline, int gradient_groups = 1, collective::all_reduce_choice const& reduction = {})
      : ranks_(ranks),
        door_(ranks.pipeline()),
        deadline_(deadline),
        lock_while_building_(door_.launch_lock()),
        model_(layers, stages_of(graph, door_.rank()), extents, seed, Space{}, gradient_groups),
        reduction_(model_.parameters(), model_.layer_of_entry(), ranks.holders_of_stage(), reduction, deadline,
                   ranks.sums_in_place()) {
    own_stages_ = stages_of(graph, door_.rank());
    find_tied(layers, graph);
    std::vector<parameters::parameter_descriptor> all;
    std::vector<int> counted_stages;  // whose copy 0 is here: NORM counts no parameter twice
    for (int stage = 0; stage < graph.stages; ++stage) {
      for (auto& each : model_type::describe(layers[static_cast<std::size_t>(stage)])) all.push_back(std::move(each));
      if (graph.rank_of(stage) == door_.rank()) counted_stages.push_back(stage);
      auto const& range = layers[static_cast<std::size_t>(stage)];
      if (range.last != Model::layer_count || range.first == Model::layer_count) continue;
      head_rank_ = graph.rank_of(stage);
      for (int copy = 0; copy < graph.copies; ++copy)
        has_head_ = has_head_ || graph.rank_of(stage, copy) == door_.rank();
    }
    blocks_ = decltype(blocks_)(all, std::move(counted_stages));
    lock_while_building_ = {};
  }

  // What the engine asks of a stage.
  [[nodiscard]] weft::boundary boundary(topology::edge const& edge) const { return model_.boundary(edge); }
  void prepare(int stage, schedule::slot_counts const& slots) { model_.prepare(stage, slots); }
  void prepare_backward(int stage) { model_.prepare_backward(stage); }
  void forward(context& where, views const& in, views& out) { model_.forward(where, in, out); }
  void backward_input(context& where, views const& in, views const& gradient_out, views& gradient_in) {
    model_.backward_input(where, in, gradient_out, gradient_in);
  }
  void backward(context& where, views const& in, views const& gradient_out, views& gradient_in) {
    model_.backward(where, in, gradient_out, gradient_in);
  }
  void backward_weight(context& where, views const& in, views const& gradient_out) {
    model_.backward_weight(where, in, gradient_out);
  }

  /// Over copies of the model and the data axis: begins, and does not wait; where there are both, one sum over all
  /// begins with the copies'. Over use sites of tied parameters: communicates with the ranks that hold another one; the
  /// first call of a step does all sites of this rank.
  void reduce_gradient(int stage, int group) {
    if (group == static_cast<int>(schedule::reduction::tied))
      reduce_tied();
    else if (group == static_cast<int>(ranks_.copies() > 1 ? schedule::reduction::copies : schedule::reduction::data))
      reduction_.start(door_, space_, stage);
  }

  /// Moves gradients that are on their way, between other waits. Does not block.
  void progress() { reduction_.advance(); }

  /// Collective over all ranks. Also shares the loss of every micro-batch, in the same message.
  void norm() {
    reduce_tied();
    reduction_.finish(door_, space_);
    {
      auto const lock = door_.launch_lock();
      std::fill(shared_.begin(), shared_.end(), 0.0);
      if (ranks_.index() == 0) blocks_.put(space_, store(), shared_);  // the other replicas' gradients are the same
      add_own_losses(shared_);
      shared_[stop_place()] = wants_stop_ ? 1.0 : 0.0;
    }
    transport::all_reduce_sum(ranks_.world(), shared_.data(), shared_.size(), deadline_);
    read_state(shared_);
    scale_ = next_scale(scaling_, scale_, factor_ > 0.0);
  }

  /// In NORM's place where steps are validated afterwards: waits for the rank before, not for the others, and takes
  /// what is known here for the whole. Communicates with the ranks before and behind, and along the data axis.
  void partial_norm() {
    auto const on_turn = [this] { progress(); };
    reduce_tied();
    reduction_.finish(door_, space_);
    auto& state = validation_->collect(on_turn);
    {
      auto const lock = door_.launch_lock();
      blocks_.put(space_, store(), state);
      add_own_losses(state);
      if (wants_stop_) state[stop_place()] = 1.0;
    }
    bool const is_last = validation_->is_last();
    if (is_last && ranks_.count() > 1)  // its own pipeline's losses and wishes; the gradients are the same in all
      transport::all_reduce_sum(*ranks_.holders(), state.data() + blocks_.size(), micro_batches_ + 1, deadline_);
    read_state(state);
    std::size_t const steps = stop_place() + 1;  // by rank: the factor that it takes
    state[steps + static_cast<std::size_t>(door_.rank())] = speculates_ || is_last ? factor_ : waits;
    if (is_last) {
      bool const is_wrong = std::any_of(state.begin() + static_cast<std::ptrdiff_t>(steps), state.end(),
                                        [&](double taken) { return taken != waits && taken != factor_; });
      validation_->tell({norm_, loss_sum_, stop_requested_ ? 1.0 : 0.0, is_wrong ? 1.0 : 0.0}, on_turn);
    } else {
      validation_->pass_on();
    }
    if (!speculates_) take(validation_->hear(on_turn));
    is_open_ = true;
  }

  /// The step before, now that the whole of its norm is known. Waits for the last rank's word of it. Where this rank
  /// has stepped by other numbers, it goes back and steps again. True: some rank has, so that whatever was done with
  /// the weights since must be done again. Nothing to do where no step waits for it.
  [[nodiscard]] bool validate() {
    if (!is_open_) return false;
    settle();
    coming_.optimizer_step = update_.optimizer_step + (factor_ > 0.0 ? 1 : 0);
    auto const lock = door_.launch_lock();
    start_update();
    return validated_.is_redone;
  }

  /// The same where no step follows. Ends with this rank's STEPs final.
  void settle() {
    if (!is_open_) return;
    is_open_ = false;
    double const taken = factor_;
    whole_state const whole = validation_->hear([this] { progress(); });
    take(whole);
    if (factor_ != taken) {
      if (taken > 0.0) store().roll_back();
      for (int const stage : own_stages_) step(stage);
      if (factor_ > 0.0) store().commit();
    }
    speculates_ = always_speculates_ || factor_ == 1.0;
    validated_ = {norm_, loss_sum_, factor_ == 0.0, stop_requested_, whole.redo > 0.0, update_.loss_scale};
    scale_ = next_scale(scaling_, scale_, factor_ > 0.0);
  }

  /// AdamW on one stage's parameters, into their other slot. Does not communicate.
  void step(int stage) {
    if (factor_ == 0.0) return;
    double const scale = factor_ / update_.loss_scale;
    auto const lock = door_.launch_lock();
    step_values_.set(space_, 0, step_values::make(optimizer_, update_.learning_rate, update_.optimizer_step, scale));
    key_.clear();
    for (auto const& entry : store().entries()) {
      if (entry.stage != stage) continue;
      key_.push_back(reinterpret_cast<std::uintptr_t>(store().value(entry).data()));
      key_.push_back(reinterpret_cast<std::uintptr_t>(store().first_moment(entry).data()));
    }
    if (!key_.empty()) graphs_.run(space_, key_, [&](bool) { queue_step(stage); });
    execution::fence(space_, "weft::step");
  }

  // What the trainer asks.
  void set_optimizer(adamw const& options) {
    optimizer_ = options;
    graphs_.forget();
  }

  /// Whether calls of stages, and STEPs, are recorded and replayed: see trainer_options::capture.
  void set_capture(bool is_on) {
    model_.set_capture(is_on);
    graphs_.enable(is_on);
  }

  /// `how`: checked. Between steps; the next one has the state's scale.
  void set_loss_scale(loss_scaling const& how, loss_scale_state const& state) {
    scaling_ = how;
    scale_ = state;
  }
  /// Of the next step.
  [[nodiscard]] loss_scale_state const& loss_scale() const { return scale_; }
  /// Of the step that was played last.
  [[nodiscard]] double used_loss_scale() const { return update_.loss_scale; }

  /// For programs with PARTIAL_NORM and VALIDATE. `micro_batches`: of a batch, over all pipelines. `always_speculates`:
  /// see trainer_options. Does not communicate.
  void post_validate(int micro_batches, bool always_speculates) {
    auto const ranks = static_cast<std::size_t>(door_.size());
    validation_ = std::make_unique<post_validation>(
        door_, blocks_.size() + static_cast<std::size_t>(micro_batches) + 1 + ranks, deadline_);
    always_speculates_ = always_speculates;
  }

  /// Before a training program is played, with this replica's part of the batch. Does not communicate. Where a step
  /// waits for its validation, its gradients and its place in the count of steps are left alone until VALIDATE.
  void begin_training(model::token_batch const& batch, double learning_rate, double clip, std::int64_t optimizer_step) {
    auto const lock = door_.launch_lock();
    begin(batch, batch.micro_batches * ranks_.count(), batch.micro_batches * ranks_.index());
    coming_ = {learning_rate, clip, optimizer_step, scale_.scale};
    if (!is_open_) start_update();
  }

  /// Of the last step that was validated.
  struct validated_step {
    double norm = 0.0;
    double loss_sum = 0.0;
    bool is_skipped = false;
    bool is_stop_requested = false;
    bool is_redone = false;  ///< some rank had stepped by other numbers
    double loss_scale = 1.0;
  };
  [[nodiscard]] validated_step const& validated() const { return validated_; }
  /// Steps have been made that are not validated.
  [[nodiscard]] bool is_open() const { return is_open_; }
  /// When every rank has settled: until all have heard so. Communicates with all ranks of the pipeline.
  void finish_validation() {
    if (validation_ != nullptr) validation_->finish([this] { progress(); });
  }

  /// Before a forward-only program is played, with a part of a batch of `micro_batches` in all that begins with its
  /// `first`. Does not communicate.
  void begin_forward(model::token_batch const& batch, int micro_batches, int first) {
    auto const lock = door_.launch_lock();
    begin(batch, micro_batches, first);
  }

  /// After a forward-only program: every rank learns the losses of the whole batch. Collective over all ranks.
  void share_losses() {
    std::fill(shared_.begin(), shared_.end(), 0.0);
    {
      auto const lock = door_.launch_lock();
      add_own_losses(shared_);
    }
    transport::all_reduce_sum(ranks_.world(), shared_.data() + blocks_.size(), shared_.size() - blocks_.size(),
                              deadline_);
    read_losses(shared_);
  }

  /// Makes the weights of the last STEP the current ones; false, and nothing changed, when the norm was not finite.
  bool commit() {
    if (factor_ == 0.0) return false;
    store().commit();
    return true;
  }

  /// Logits at `position` of sequence 0 of the micro-batch that ran last, from the rank of the head to every rank.
  /// Collective over the pipeline.
  [[nodiscard]] std::vector<float> logits(int position) {
    std::vector<float> row(static_cast<std::size_t>(Model::vocabulary));
    if (door_.rank() == head_rank_) {
      auto const lock = door_.launch_lock();
      model_.last_logits(0, position, row.data());
    }
    transport::broadcast(door_, row.data(), row.size() * sizeof(float), head_rank_, deadline_);
    return row;
  }

  /// Sum of -log p over the counted tokens of the last batch; micro-batches added in ascending order.
  [[nodiscard]] double loss_sum() const { return loss_sum_; }
  [[nodiscard]] double gradient_norm() const { return norm_; }

  /// Travels with the next NORM.
  void request_stop() { wants_stop_ = true; }
  [[nodiscard]] bool is_stop_requested() const { return stop_requested_; }
  /// Bytes of buffers for the reduction over the data axis.
  [[nodiscard]] std::size_t reduction_bytes() const { return reduction_.bytes(); }
  /// Bytes that tied parameters' gradients from other ranks take here.
  [[nodiscard]] std::size_t tied_bytes() const {
    std::size_t sum = 0;
    for (auto const& each : tied_) sum += each.bytes();
    return sum;
  }
  [[nodiscard]] store_type& store() { return model_.parameters(); }
  [[nodiscard]] model_type& model() { return model_; }
  [[nodiscard]] Space const& space() const { return space_; }

 private:
  /// Ascending, of all copies: the same order on all ranks that hold the same stages.
  static std::vector<int> stages_of(topology::stage_graph_view const& graph, int rank) {
    std::vector<int> mine;
    for (int stage = 0; stage < graph.stages; ++stage)
      for (int copy = 0; copy < graph.copies; ++copy)
        if (graph.rank_of(stage, copy) == rank) mine.push_back(stage);
    return mine;
  }

  /// The sites of one copy are added up apart from those of another.
  void find_tied(std::vector<topology::layer_range> const& layers, topology::stage_graph_view const& graph) {
    using site = typename tied_type::site;
    for (int copy = 0; copy < graph.copies; ++copy)
      for (int accumulator = 0; accumulator < store().gradient_groups(); ++accumulator) {
        std::map<int, std::map<int, site>> groups;  // group -> use site
        for (int stage = 0; stage < graph.stages; ++stage)
          for (auto const& each : model_type::describe(layers[static_cast<std::size_t>(stage)]))
            if (each.tie_group >= 0) groups[each.tie_group][each.use_site].rank = graph.rank_of(stage, copy);
        for (auto const& entry : store().entries())
          if (entry.descriptor.tie_group >= 0 && graph.rank_of(entry.stage, copy) == door_.rank())
            groups[entry.descriptor.tie_group][entry.descriptor.use_site].gradient =
                store().gradient(entry, accumulator);
        for (auto const& [group, sites] : groups) {
          std::vector<site> in_order;
          for (auto const& [use_site, each] : sites) in_order.push_back(each);
          tied_.emplace_back(group, std::move(in_order), door_.rank());
        }
      }
  }

  /// This rank's micro-batches are [first, first + batch.micro_batches) of `micro_batches` over all replicas.
  void begin(model::token_batch const& batch, int micro_batches, int first) {
    model_.begin(batch);
    own_micro_batches_ = static_cast<std::size_t>(batch.micro_batches);
    first_micro_batch_ = static_cast<std::size_t>(first);
    micro_batches_ = static_cast<std::size_t>(micro_batches);
    shared_.resize(blocks_.size() + micro_batches_ + 1);
  }

  void reduce_tied() {
    if (is_tied_reduced_) return;
    is_tied_reduced_ = true;
    try {
      for (auto& each : tied_) each.reduce(door_, space_, deadline_, [&] { progress(); });
    } catch (...) {
      store().keep_gradients_for_ever();
      throw;
    }
    reduction_.start_tied(door_, space_);
  }

  /// Holds the launch lock.
  void queue_step(int stage) {
    for (auto const& entry : store().entries()) {
      if (entry.stage != stage || entry.owner >= 0) continue;  // a tied value is its first site's, and so is its STEP
      if (entry.descriptor.frozen) {
        store().keep(space_, entry);
        continue;
      }
      adamw_step(space_, optimizer_, step_values_.at(0), entry.descriptor.decay, store().value(entry),
                 store().first_moment(entry), store().second_moment(entry), store().gradient(entry),
                 store().next_value(entry), store().next_first_moment(entry), store().next_second_moment(entry),
                 store().next_compute_value(entry));
    }
  }

  [[nodiscard]] std::size_t stop_place() const { return blocks_.size() + micro_batches_; }

  /// Holds the launch lock.
  void start_update() {
    update_ = coming_;
    update_.loss_scale = scale_.scale;  // the step before may have changed it since
    model_.set_loss_scale(update_.loss_scale);
    is_tied_reduced_ = false;
    store().zero_gradients(space_);
    execution::fence(space_, "weft::begin");
    if (validation_ != nullptr) validation_->begin();
  }

  /// Norm, losses and wish to stop out of what the ranks have put together, and what STEP has to do.
  void read_state(std::vector<double> const& from) {
    stop_requested_ = from[stop_place()] > 0.0;
    norm_ = std::sqrt(blocks_.sum(from)) / update_.loss_scale;
    read_losses(from);
    decide();
  }

  void take(whole_state const& whole) {
    norm_ = whole.norm;
    loss_sum_ = whole.loss_sum;
    stop_requested_ = whole.stop > 0.0;
    decide();
  }

  void decide() {
    bool const is_finite = std::isfinite(norm_) && std::isfinite(loss_sum_);
    factor_ = !is_finite ? 0.0 : update_.clip > 0.0 && norm_ > update_.clip ? update_.clip / norm_ : 1.0;
  }

  void add_own_losses(std::vector<double>& into) {
    if (!has_head_) return;
    auto const& sums = model_.loss_sums();
    for (std::size_t micro_batch = 0; micro_batch < own_micro_batches_; ++micro_batch)
      into[blocks_.size() + first_micro_batch_ + micro_batch] += sums[micro_batch];
  }

  void read_losses(std::vector<double> const& from) {
    loss_sum_ = 0.0;
    for (std::size_t micro_batch = 0; micro_batch < micro_batches_; ++micro_batch)
      loss_sum_ += from[blocks_.size() + micro_batch];
  }

  using gradient_view = decltype(std::declval<store_type&>().gradient(std::declval<store_type&>().entries()[0]));
  using tied_type = tied_gradient<gradient_view, Space>;
  using step_values = adamw_values<typename store_type::weight>;

  replica const& ranks_;
  transport::endpoint& door_;  // to the ranks of this pipeline
  double deadline_;
  transport::launch_guard lock_while_building_;
  Space space_;
  model_type model_;
  gradient_reduction<store_type, Space> reduction_;
  norm_blocks<store_type, Space> blocks_;
  std::vector<tied_type> tied_;
  int head_rank_ = 0;      ///< of copy 0
  bool has_head_ = false;  ///< of any copy

  adamw optimizer_;
  adamw_value_slots<typename store_type::weight, Space> step_values_;
  execution::call_graphs<Space> graphs_;  ///< of STEPs
  typename execution::call_graphs<Space>::key key_;
  struct update {
    double learning_rate = 0.0;
    double clip = 0.0;
    std::int64_t optimizer_step = 1;
    double loss_scale = 1.0;  ///< in the gradients
  };
  update update_;        ///< of the gradients that are there
  update coming_;        ///< of the program that is played
  double factor_ = 0.0;  ///< what STEP multiplies gradients by, the loss scale apart; 0: it leaves weights alone
  loss_scaling scaling_{.how = loss_scaling::kind::none};
  loss_scale_state scale_;  ///< of the gradients that come next
  bool is_tied_reduced_ = false;
  std::size_t micro_batches_ = 0;  // of the whole batch
  std::size_t own_micro_batches_ = 0;
  std::size_t first_micro_batch_ = 0;
  std::vector<double> shared_;  // block norms, losses, wish to stop: what NORM adds up over ranks
  bool wants_stop_ = false;
  bool stop_requested_ = false;
  double norm_ = 0.0;
  double loss_sum_ = 0.0;

  // Where steps are validated afterwards:
  static constexpr double waits = -1.0;  ///< in place of a factor: has not stepped before all was known
  std::unique_ptr<post_validation> validation_;
  std::vector<int> own_stages_;
  bool is_open_ = false;  ///< the last step is not validated
  bool speculates_ = true;
  bool always_speculates_ = false;
  validated_step validated_;
};

}  // namespace weft::inline v1::train
