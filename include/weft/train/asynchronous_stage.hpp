// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/parameters/parameter_store.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/clip_policy.hpp>
#include <weft/train/delayed_norm.hpp>
#include <weft/train/delayed_tied_gradient.hpp>
#include <weft/train/square_sum.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>
#include <weft/transport/run_collective.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// What every rank learns about one step of a window, at the window's end.
struct asynchronous_step {
  double loss_sum = 0.0;            ///< of -log p over the counted tokens
  double gradient_norm = 0.0;       ///< of what the step applied, before clipping
  std::vector<int> skipped_stages;  ///< whose gradient was not finite; a tied parameter counts to stage 0
  friend bool operator==(asynchronous_step const&, asynchronous_step const&) = default;
};

/// One stage of an asynchronous run: a model stage that steps when the program says so, each stage in its own time.
///
/// STEP k of a stage applies its gradient of step k. A tied parameter is the exception: its sites lie on stages that
/// step at different times, so at STEP k each of them applies the sum over all sites of step k - d (d:
/// `window_plan::delay`; the first d steps leave it alone), and equal versions of it are equal bits. Weights are read
/// as the program says, tied ones like all of their stage: under PipeDream on p ranks the embedding of minibatch k is
/// version max(0, k - (p - 1)), the head's table version k; under 2BW both are version max(0, t - 1).
///
/// The gradient that STEP k applies is what is clipped. `per_stage`: by the norm of the stage's own parameters, and
/// tied ones by theirs. `delayed_norm`: by the norm over all stages of what STEP k - d applied. A stage whose gradient
/// is not finite (the last one: or its loss) leaves its weights as they are in that step, and counts zero in the norm.
template <class Model, class Real, class Space>
class asynchronous_stage {
 public:
  using model_type = model::model_stage<Model, Real, Space>;
  using views = boundary_views<typename Space::memory_space>;
  using context = stage_context<Space>;
  using store_type = parameters::parameter_store<Real, Space>;

  /// `versions`: weights kept of each stage. One stage per rank: `stage` lies on rank `stage`. Does not communicate.
  asynchronous_stage(transport::endpoint& door, std::vector<topology::layer_range> const& layers,
                     std::vector<int> const& versions, model::extents const& extents, std::uint64_t seed, int delay,
                     clip_policy clipping, double deadline)
      : door_(door),
        deadline_(deadline),
        clipping_(clipping),
        delay_(delay),
        stages_(layers.size()),
        lock_while_building_(door.launch_lock()),
        model_(layers, {door.rank()}, extents, seed, Space{}, 1),
        squares_(squares_of_own(model_.parameters())) {
    store().keep_values(door.rank(), versions[static_cast<std::size_t>(door.rank())]);
    find_tied(layers);
    norm_ = std::make_unique<delayed_norm>(door, stages_ + tied_.size(), delay, deadline);
    own_.resize(stages_ + tied_.size());
    for (std::size_t stage = 0; stage < layers.size(); ++stage)
      if (layers[stage].last == Model::layer_count && layers[stage].first < Model::layer_count)
        head_rank_ = static_cast<int>(stage);
    tied_applied_.resize(tied_.size());
    step_values_ = decltype(step_values_)(1 + tied_.size());
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

  /// Moves norms that are on their way, between other waits. Does not block.
  void progress() { norm_->advance(); }

  /// AdamW on the stage's parameters, with its own gradient of this step; makes the newest weights. Waits for what
  /// other ranks did `delay` steps before, if that is not there yet.
  void step(int stage) {
    auto const turn = [&] { progress(); };
    std::int64_t const now = first_step_ + steps_;
    bool const is_late = now >= delay_;  // there are gradients of `delay` steps before
    double const rate = rates_[static_cast<std::size_t>(steps_)];
    std::fill(own_.begin(), own_.end(), 0.0);
    double squares = 0.0;
    double loss = 0.0;
    {
      auto const lock = door_.launch_lock();
      squares = squares_.of_all(space_) / (loss_scale_ * loss_scale_);
      loss = own_loss(steps_);
    }
    bool const applies = std::isfinite(squares) && std::isfinite(loss);
    if (applies) own_[static_cast<std::size_t>(stage)] = squares;

    updates_.clear();
    for (std::size_t index = 0; index < tied_.size(); ++index) {
      auto& each = tied_[index];
      if (!each.gradient.is_here()) continue;
      each.gradient.give(space_, now);
      if (!is_late) continue;
      auto& made = updates_.emplace_back();
      made.index = index;
      made.sum = each.gradient.take(space_, now - delay_, turn);
      {
        auto const lock = door_.launch_lock();
        made.squares = squares_.of(space_, made.sum) / (loss_scale_ * loss_scale_);
      }
      made.applies = std::isfinite(made.squares);
      if (made.applies && each.gradient.is_owner()) own_[stages_ + index] = made.squares;
    }
    note(stage, applies);

    double scale = 1.0;
    if (clipping_ == clip_policy::delayed_norm) {
      norm_->start(now, own_);
      if (is_late) scale = scale_of(norm_->take(now - delay_, turn));
    } else {
      scale = scale_of(std::sqrt(squares));
    }
    if (applies) ++applied_;
    {
      auto const lock = door_.launch_lock();
      set_values(0, rate, applied_, scale);
      for (auto const& entry : store().entries())
        if (entry.descriptor.tie_group < 0) update(entry, applies, store().gradient(entry), 0);
      for (std::size_t index = 0; index < tied_.size(); ++index) {
        auto const found = std::find_if(updates_.begin(), updates_.end(),
                                        [&](tied_update const& each) { return each.index == index; });
        bool const moves = found != updates_.end() && found->applies;
        if (moves) ++tied_applied_[index];
        double const own_scale = clipping_ == clip_policy::delayed_norm ? scale
                                 : moves                                ? scale_of(std::sqrt(found->squares))
                                                                        : 1.0;
        set_values(1 + index, rate, tied_applied_[index], own_scale);
        for (auto const& entry : store().entries())
          if (entry.descriptor.tie_group == tied_[index].group)
            update(entry, moves, moves ? found->sum : store().gradient(entry), 1 + index);
      }
      store().commit(stage);
      store().zero_gradients(space_, stage);
      execution::fence(space_, "weft::step");
    }
    ++steps_;
  }

  // What the trainer asks.
  void set_optimizer(adamw const& options, double clip) {
    optimizer_ = options;
    clip_ = clip;
  }

  /// In all gradients, also those that are under way: the same from a run's first step to its last.
  void set_loss_scale(double scale) {
    loss_scale_ = scale;
    model_.set_loss_scale(scale);
  }

  [[nodiscard]] double loss_scale() const { return loss_scale_; }

  /// Before a window is played: its batches, one per step, and the learning rate of each. `first_step`: steps that this
  /// schedule has made. Does not communicate.
  void begin_window(std::span<model::token_batch const> batches, std::vector<double> rates, std::int64_t first_step) {
    auto const lock = door_.launch_lock();
    model_.begin(batches);
    micro_batches_ = static_cast<std::size_t>(batches[0].micro_batches);
    rates_ = std::move(rates);
    first_step_ = first_step;
    steps_ = 0;
    shared_.assign(rates_.size() * step_places() + 1, 0.0);
    store().zero_gradients(space_);
    execution::fence(space_, "weft::begin");
  }

  /// After a window: waits for all that is under way, and tells every rank about every step. Collective.
  [[nodiscard]] std::vector<asynchronous_step> finish_window() {
    std::int64_t const end = first_step_ + steps_;
    for (std::int64_t step = std::max<std::int64_t>(0, end - delay_); step < end; ++step) {
      if (clipping_ == clip_policy::delayed_norm) static_cast<void>(norm_->take(step, [] {}));
      for (auto& each : tied_)
        if (each.gradient.is_here()) static_cast<void>(each.gradient.take(space_, step, [&] { progress(); }));
    }
    if (door_.rank() == head_rank_) {
      auto const lock = door_.launch_lock();
      auto const& sums = model_.loss_sums();
      for (std::size_t step = 0; step < rates_.size(); ++step)
        std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(step * micro_batches_), micro_batches_,
                    shared_.begin() + static_cast<std::ptrdiff_t>(step * step_places()));
    }
    shared_.back() = wants_stop_ ? 1.0 : 0.0;
    transport::all_reduce_sum(door_, shared_.data(), shared_.size(), deadline_);
    is_stop_requested_ = shared_.back() > 0.0;
    std::vector<asynchronous_step> result(rates_.size());
    for (std::size_t step = 0; step < rates_.size(); ++step) {
      double const* at = shared_.data() + step * step_places();
      for (std::size_t each = 0; each < micro_batches_; ++each) result[step].loss_sum += *at++;
      double squares = 0.0;
      for (std::size_t each = 0; each < own_.size(); ++each) squares += *at++;
      result[step].gradient_norm = std::sqrt(squares);
      for (std::size_t each = 0; each < stages_; ++each)
        if (*at++ > 0.0) result[step].skipped_stages.push_back(static_cast<int>(each));
    }
    return result;
  }

  /// Before a forward-only program is played, which reads the newest weights. Does not communicate.
  void begin_forward(model::token_batch const& batch) {
    auto const lock = door_.launch_lock();
    model_.begin(batch);
    micro_batches_ = static_cast<std::size_t>(batch.micro_batches);
  }
  /// After it: the sum of -log p over the counted tokens, on every rank. Collective.
  [[nodiscard]] double share_losses() {
    std::vector<double> sums(micro_batches_, 0.0);
    if (door_.rank() == head_rank_) {
      auto const lock = door_.launch_lock();
      sums = model_.loss_sums();
    }
    transport::all_reduce_sum(door_, sums.data(), sums.size(), deadline_);
    double sum = 0.0;
    for (double const each : sums) sum += each;
    return sum;
  }
  /// As training_stage's. Collective.
  [[nodiscard]] std::vector<float> logits(int position) {
    std::vector<float> row(static_cast<std::size_t>(Model::vocabulary));
    if (door_.rank() == head_rank_) {
      auto const lock = door_.launch_lock();
      model_.last_logits(0, position, row.data());
    }
    transport::broadcast(door_, row.data(), row.size() * sizeof(float), head_rank_, deadline_);
    return row;
  }

  /// Travels with the end of the next window.
  void request_stop() { wants_stop_ = true; }
  [[nodiscard]] bool is_stop_requested() const { return is_stop_requested_; }

  // What is carried from one window to the next beside the store's values and moments; see asynchronous_state.hpp.
  [[nodiscard]] delayed_norm& norms() { return *norm_; }
  [[nodiscard]] std::size_t tied_groups() const { return tied_.size(); }
  [[nodiscard]] auto& tied_gradient_of(std::size_t index) { return tied_[index].gradient; }
  [[nodiscard]] std::string const& tied_name(std::size_t index) const { return tied_[index].name; }
  [[nodiscard]] std::int64_t& applied() { return applied_; }  ///< STEPs of this stage that changed its weights
  [[nodiscard]] std::int64_t& tied_applied(std::size_t index) { return tied_applied_[index]; }
  [[nodiscard]] int delay() const { return delay_; }

  [[nodiscard]] std::size_t tied_bytes() const {
    std::size_t sum = 0;
    for (auto const& each : tied_) sum += each.gradient.bytes();
    return sum;
  }
  [[nodiscard]] store_type& store() { return model_.parameters(); }
  [[nodiscard]] store_type const& store() const { return model_.parameters(); }
  [[nodiscard]] model_type& model() { return model_; }
  [[nodiscard]] Space const& space() const { return space_; }

 private:
  using gradient_view = typename store_type::view_type;
  using tied_type = delayed_tied_gradient<gradient_view, Space>;
  using step_values = adamw_values<typename store_type::weight>;

  struct tied_parameter {
    int group = 0;
    std::string name;
    tied_type gradient;
  };

  /// What STEP does to a tied parameter.
  struct tied_update {
    std::size_t index = 0;
    gradient_view sum;
    double squares = 0.0;
    bool applies = false;
  };

  /// The gradients of the stage's own parameters, tied and frozen ones apart, in the order of their names.
  static square_sum<gradient_view, Space> squares_of_own(store_type const& store) {
    std::map<std::string, gradient_view> by_name;
    std::int64_t largest = 0;
    for (auto const& entry : store.entries()) {
      largest = (std::max)(largest, entry.elements);
      if (entry.descriptor.tie_group < 0 && !entry.descriptor.frozen)
        by_name[entry.descriptor.name] = store.gradient(entry);
    }
    std::vector<gradient_view> own;
    for (auto const& [name, gradient] : by_name) own.push_back(gradient);
    return {std::move(own), largest};
  }

  void find_tied(std::vector<topology::layer_range> const& layers) {
    std::map<int, std::map<int, typename tied_type::site>> groups;  // group -> use site
    std::map<int, std::string> names;
    for (std::size_t stage = 0; stage < layers.size(); ++stage)
      for (auto const& each : model_type::describe(layers[stage]))
        if (each.tie_group >= 0) {
          groups[each.tie_group][each.use_site].rank = static_cast<int>(stage);
          names[each.tie_group] = each.name;
        }
    for (auto const& entry : store().entries())
      if (entry.descriptor.tie_group >= 0)
        groups[entry.descriptor.tie_group][entry.descriptor.use_site].gradient = store().gradient(entry);
    for (auto const& [group, sites] : groups) {
      std::vector<typename tied_type::site> in_order;
      for (auto const& [use_site, each] : sites) in_order.push_back(each);
      tied_.push_back({group, names[group], tied_type(group, std::move(in_order), door_, delay_, deadline_)});
    }
  }

  /// Of one step of the window, on the rank of the head; 0 elsewhere. Under the launch lock.
  double own_loss(std::int64_t step) {
    if (door_.rank() != head_rank_) return 0.0;
    auto const& sums = model_.loss_sums();
    double sum = 0.0;
    for (std::size_t each = 0; each < micro_batches_; ++each)
      sum += sums[static_cast<std::size_t>(step) * micro_batches_ + each];
    return sum;
  }

  [[nodiscard]] double scale_of(double norm) const { return clip_ > 0.0 && norm > clip_ ? clip_ / norm : 1.0; }

  /// What AdamW does this time: slot 0 is of the stage's own parameters, slot 1 + i of those of tied group i.
  void set_values(std::size_t slot, double rate, std::int64_t applied, double scale) {
    step_values_.set(space_, slot, step_values::make(optimizer_, rate, applied, scale / loss_scale_));
  }

  template <class Entry>
  void update(Entry const& entry, bool applies, gradient_view const& gradient, std::size_t slot) {
    if (!applies || entry.descriptor.frozen) {
      store().keep(space_, entry);
      return;
    }
    adamw_step(space_, optimizer_, step_values_.at(slot), entry.descriptor.decay, store().value(entry),
               store().first_moment(entry), store().second_moment(entry), gradient, store().next_value(entry),
               store().next_first_moment(entry), store().next_second_moment(entry), store().next_compute_value(entry));
  }

  /// Of one step in `shared_`: losses, squares of stages and tied parameters, which stages skipped.
  [[nodiscard]] std::size_t step_places() const { return micro_batches_ + own_.size() + stages_; }

  void note(int stage, bool applies) {
    auto const at = shared_.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<std::size_t>(steps_) * step_places() + micro_batches_);
    std::copy(own_.begin(), own_.end(), at);
    auto const skipped = at + static_cast<std::ptrdiff_t>(own_.size());
    bool is_left_alone = !applies;
    for (tied_update const& each : updates_)
      is_left_alone = is_left_alone || (!each.applies && tied_[each.index].gradient.is_owner());
    if (is_left_alone) skipped[stage] = 1.0;
  }

  transport::endpoint& door_;
  double deadline_;
  double loss_scale_ = 1.0;
  clip_policy clipping_;
  int delay_;
  std::size_t stages_;
  transport::launch_guard lock_while_building_;
  Space space_;
  model_type model_;
  square_sum<gradient_view, Space> squares_;
  std::vector<tied_parameter> tied_;
  std::unique_ptr<delayed_norm> norm_;
  int head_rank_ = 0;

  adamw optimizer_;
  adamw_value_slots<typename store_type::weight, Space> step_values_;
  double clip_ = 0.0;
  std::int64_t applied_ = 0;
  std::vector<std::int64_t> tied_applied_;
  std::vector<double> rates_;  // of the window's steps
  std::int64_t first_step_ = 0;
  std::int64_t steps_ = 0;  // done in this window
  std::size_t micro_batches_ = 0;
  std::vector<tied_update> updates_;  // of this step
  std::vector<double> own_;           // squares of this step: of each stage, then of each tied parameter
  std::vector<double> shared_;
  bool wants_stop_ = false;
  bool is_stop_requested_ = false;
};

}  // namespace weft::inline v1::train
