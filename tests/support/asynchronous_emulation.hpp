// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/execution/reduce.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/program.hpp>
#include <weft/topology/placement.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/clip_policy.hpp>
#include <weft/train/learning_rate.hpp>
#include <weft/transport/in_process.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

/// What asynchronous training has to compute, by its formula: a serial loop on one rank that keeps every version of
/// every weight for ever, and knows nothing of windows, rings, messages or ranks.
///
///     W(k+1) = W(k) - lr AdamW(clip(grad(W(version(stage, k)))))     per stage
namespace asynchronous_emulation {

using space = Kokkos::DefaultHostExecutionSpace;

/// Which weights a stage reads in step k.
using version_rule = std::function<int(int stage, int step)>;

struct setup {
  int stages = 2;
  int micro_batches = 1;
  version_rule forward;
  version_rule backward;
  int delay = 1;  ///< of tied parameters' gradients and of norms
  weft::train::clip_policy clipping = weft::train::clip_policy::per_stage;
  double clip = 1.0;
  weft::train::adamw optimizer{};
  weft::train::warmup_cosine learning_rate{};
  std::uint64_t seed = 1;
  double dropout = 0.0;
  weft::model::extents largest{};
  std::vector<weft::topology::layer_range> layers;
  int poisoned_step = -1;  ///< in which the gradient that enters `poisoned_stage` gets an infinite element
  int poisoned_stage = -1;
};

/// A parameter's value and moments.
struct tensor {
  std::vector<float> value, first, second;
  friend bool operator==(tensor const&, tensor const&) = default;
};
/// By "stage/name/use site".
using state = std::map<std::string, tensor>;

inline std::string key_of(int stage, std::string const& name, int use_site) {
  return std::to_string(stage) + "/" + name + "/" + std::to_string(use_site);
}

struct told {
  double loss_sum = 0.0;
  double norm = 0.0;
  std::vector<int> skipped;
};

template <class Model>
class emulation {
 public:
  explicit emulation(setup const& how) : how_(how) {
    std::vector<int> all;
    for (int stage = 0; stage < how.stages; ++stage) all.push_back(stage);
    model_ = std::make_unique<model_type>(how.layers, all, how.largest, how.seed);
    model_->set_dropout(how.dropout);
    for (auto const& entry : model_->parameters().entries()) {
      std::vector<float> host(static_cast<std::size_t>(entry.elements));
      model_->parameters().read(model_->parameters().value(entry), host.data());
      versions_.push_back({host});
      moments_.push_back({std::vector<float>(host.size()), std::vector<float>(host.size())});
    }
    applied_.resize(static_cast<std::size_t>(how.stages));
  }

  /// One step of every stage.
  told step(weft::model::token_batch const& batch) {
    told result;
    auto& store = model_->parameters();
    store.zero_gradients(space{});
    model_->begin(batch);
    play(batch.micro_batches);
    for (double const each : model_->loss_sums()) result.loss_sum += each;

    // The squares of every stage's own parameters, and the sum of the tied one's sites.
    auto const& entries = store.entries();
    std::vector<double> squares(static_cast<std::size_t>(how_.stages));
    std::map<std::string, std::size_t> by_name;
    for (std::size_t index = 0; index < entries.size(); ++index)
      if (entries[index].descriptor.tie_group < 0) by_name[entries[index].descriptor.name] = index;
    for (auto const& [name, index] : by_name)
      add_squares(squares[static_cast<std::size_t>(entries[index].stage)], store.gradient(entries[index]));
    std::map<int, std::vector<float>> sum;  // by use site, of the only tied parameter
    for (auto const& entry : entries)
      if (entry.descriptor.tie_group >= 0) {
        auto& site = sum[entry.descriptor.use_site];
        site.resize(static_cast<std::size_t>(entry.elements));
        store.read(store.gradient(entry), site.data());
      }
    for (auto const& [use_site, values] : sum)
      if (use_site > 0)
        for (std::size_t index = 0; index < values.size(); ++index) sum[0][index] += values[index];
    if (!sum.empty()) tied_.push_back(sum[0]);

    bool const is_late = step_ >= how_.delay;
    bool const has_tied = is_late && !tied_.empty();
    std::vector<float> const* const old = has_tied ? &tied_[static_cast<std::size_t>(step_ - how_.delay)] : nullptr;
    double tied_squares = 0.0;
    if (has_tied) {
      Kokkos::View<float*, Kokkos::HostSpace> copy("sum", old->size());
      std::copy(old->begin(), old->end(), copy.data());
      add_squares(tied_squares, copy);
    }
    bool const tied_applies = has_tied && std::isfinite(tied_squares);

    std::vector<bool> applies;
    double all = 0.0;
    for (int stage = 0; stage < how_.stages; ++stage) {
      double const own = squares[static_cast<std::size_t>(stage)];
      bool const is_finite = std::isfinite(own) && (stage + 1 < how_.stages || std::isfinite(result.loss_sum));
      applies.push_back(is_finite);
      if (is_finite) all += own;
      if (!is_finite || (stage == 0 && has_tied && !tied_applies)) result.skipped.push_back(stage);
    }
    if (tied_applies) all += tied_squares;
    result.norm = std::sqrt(all);
    norms_.push_back(result.norm);

    double const rate = how_.learning_rate(step_);
    bool const delayed = how_.clipping == weft::train::clip_policy::delayed_norm;
    double const before = is_late ? norms_[static_cast<std::size_t>(step_ - how_.delay)] : 0.0;
    for (int stage = 0; stage < how_.stages; ++stage)
      if (applies[static_cast<std::size_t>(stage)]) ++applied_[static_cast<std::size_t>(stage)];
    if (tied_applies) ++tied_applied_;
    for (std::size_t index = 0; index < entries.size(); ++index) {
      auto const& entry = entries[index];
      bool const is_tied = entry.descriptor.tie_group >= 0;
      auto const stage = static_cast<std::size_t>(entry.stage);
      versions_[index].push_back(versions_[index].back());
      if (!(is_tied ? tied_applies : static_cast<bool>(applies[stage]))) continue;
      std::vector<float> gradient(static_cast<std::size_t>(entry.elements));
      if (is_tied)
        gradient = *old;
      else
        store.read(store.gradient(entry), gradient.data());
      double const norm = delayed ? before : std::sqrt(is_tied ? tied_squares : squares[stage]);
      double const scale = how_.clip > 0.0 && norm > how_.clip ? how_.clip / norm : 1.0;
      update(index, gradient, rate, is_tied ? tied_applied_ : applied_[stage], scale, entry.descriptor.decay);
    }
    ++step_;
    return result;
  }

  [[nodiscard]] state now() const {
    state result;
    auto const& entries = model_->parameters().entries();
    for (std::size_t index = 0; index < entries.size(); ++index)
      result[key_of(entries[index].stage, entries[index].descriptor.name, entries[index].descriptor.use_site)] = {
          versions_[index].back(), moments_[index].first, moments_[index].second};
    return result;
  }

 private:
  using model_type = weft::model::model_stage<Model, float, space>;
  using views = weft::boundary_views<typename space::memory_space>;
  using context = weft::stage_context<space>;

  /// The model, with the weights that each pass is to read.
  struct versioned_stage {
    emulation& owner;
    [[nodiscard]] weft::boundary boundary(weft::topology::edge const& edge) const {
      return owner.model_->boundary(edge);
    }
    void prepare(int stage, weft::schedule::slot_counts const& slots) { owner.model_->prepare(stage, slots); }
    void forward(context& where, views const& in, views& out) {
      owner.load(where.stage(), owner.how_.forward(where.stage(), owner.step_));
      owner.model_->forward(where, in, out);
    }
    void backward(context& where, views const& in, views const& grad_out, views& grad_in) {
      if (owner.step_ == owner.how_.poisoned_step && where.stage() == owner.how_.poisoned_stage &&
          where.micro_batch() == 0)
        grad_out[0].template view<float>(0)(0) = std::numeric_limits<float>::infinity();
      owner.load(where.stage(), owner.how_.backward(where.stage(), owner.step_));
      owner.model_->backward(where, in, grad_out, grad_in);
    }
  };

  void load(int stage, int version) {
    auto& store = model_->parameters();
    for (std::size_t index = 0; index < store.entries().size(); ++index)
      if (store.entries()[index].stage == stage)
        store.write(store.value(store.entries()[index]), versions_[index].at(static_cast<std::size_t>(version)).data());
  }

  /// Forward and backward of all micro-batches, one after the other.
  void play(int micro_batches) {
    using weft::schedule::op;
    int const zero = 0;
    std::vector<int> const ranks(static_cast<std::size_t>(how_.stages), zero);
    weft::schedule::program table(
        "emulation",
        weft::topology::stage_graph::chain(how_.stages).place(weft::topology::placement::map{ranks.data()}, 1),
        micro_batches, {}, 2 * micro_batches * how_.stages);
    for (int each = 0; each < micro_batches; ++each) {
      for (int stage = 0; stage < how_.stages; ++stage)
        table.append(weft::schedule::make_action(op::forward, stage, each));
      for (int stage = how_.stages; stage-- > 0;) table.append(weft::schedule::make_action(op::backward, stage, each));
    }
    table.end_row();
    auto const program =
        weft::schedule::lower(table.view(), {.tied = weft::schedule::tied_stages::none, .optimizer = false});
    versioned_stage stage{*this};
    weft::transport::in_process::run(1, [&](auto& door) {
      weft::pipeline<versioned_stage, space> engine(program.view(), door, stage);
      engine.step();
    });
  }

  template <class View>
  static void add_squares(double& sum, View const& gradient) {
    auto const elements = static_cast<std::int64_t>(gradient.extent(0));
    Kokkos::View<double*, Kokkos::HostSpace> blocks("blocks",
                                                    static_cast<std::size_t>(weft::reduction::blocks_of(elements)));
    weft::block_norms(space{}, static_cast<float const*>(gradient.data()), elements, blocks.data());
    for (std::size_t block = 0; block < blocks.extent(0); ++block) sum += blocks(block);
  }

  /// AdamW, as its paper writes it.
  void update(std::size_t index, std::vector<float> const& gradient, double rate, int applied, double scale,
              bool decays) {
    auto const& options = how_.optimizer;
    auto const beta1 = static_cast<float>(options.beta1);
    auto const beta2 = static_cast<float>(options.beta2);
    auto const correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options.beta1, applied)));
    auto const correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options.beta2, applied)));
    auto const decay = static_cast<float>(decays ? options.weight_decay : 0.0);
    auto& value = versions_[index].back();
    auto& [first, second] = moments_[index];
    for (std::size_t at = 0; at < gradient.size(); ++at) {
      float const slope = gradient[at] * static_cast<float>(scale);
      first[at] = beta1 * first[at] + (1.0F - beta1) * slope;
      second[at] = beta2 * second[at] + (1.0F - beta2) * slope * slope;
      float const move =
          (first[at] * correction1) / (std::sqrt(second[at] * correction2) + static_cast<float>(options.epsilon));
      value[at] = value[at] - static_cast<float>(rate) * (move + decay * value[at]);
    }
  }

  setup how_;
  std::unique_ptr<model_type> model_;
  std::vector<std::vector<std::vector<float>>> versions_;  // [entry][version]
  std::vector<std::pair<std::vector<float>, std::vector<float>>> moments_;
  std::vector<int> applied_;
  int tied_applied_ = 0;
  std::vector<std::vector<float>> tied_;  // sums of every step
  std::vector<double> norms_;
  int step_ = 0;
};

}  // namespace asynchronous_emulation
