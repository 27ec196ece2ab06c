// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "carried.hpp"
#include "check.hpp"
#include "checkpoint.hpp"
#include "export_weights.hpp"
#include "generate.hpp"
#include "ideal_share.hpp"
#include "init_config.hpp"
#include "init_weights.hpp"
#include "metrics.hpp"
#include "model_config.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "out_directory.hpp"
#include "plan_report.hpp"
#include "progress.hpp"
#include "sampler.hpp"
#include "step_trace.hpp"
#include "stop_signal.hpp"
#include "token_data.hpp"
#include "training_base.hpp"
#include "windows.hpp"

#include <weft/schedule/make_program.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/asynchronous_trainer.hpp>
#include <weft/train/measured_speeds.hpp>
#include <weft/train/state.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/mpi_device_support.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// @file
/// One training, from options to files. Every rank runs all of it; rank 0 alone prints and writes.

namespace mini_llm {

template <class Model, class Trainer = weft::train::trainer<Model, numbers>>
class training : private training_base {
 public:
  using trainer_type = Trainer;
  /// It plays several steps at once: an asynchronous trainer.
  static constexpr bool plays_windows = requires(Trainer & trainer) { trainer.begun_at(); };

  /// Collective. Throws the same `weft::agreed_error` on every rank if anything is missing or does not fit.
  training(options const& chosen, weft::transport::endpoint& door, std::string const& executable)
      : training_base(chosen, door, executable, facts_of<Model>()) {
    weft::schedule::program program;
    double const deadline = chosen_.timeout_seconds;
    weft::transport::all_or_none(
        door_,
        [&] {
          load();
          program = make_program(chosen_, door_.size());
          copies_ = program.view().graph.copies;
        },
        deadline);
    find_speeds(program.view().ranks());
    weft::transport::all_or_none(
        door_, [&] { layers_ = partition_of<Model>(chosen_, program.view()); }, deadline);
    if constexpr (plays_windows)
      trainer_ = std::make_unique<trainer_type>(windows_of(chosen_, door_.size()), door_, settings(),
                                                weft::train::clip_policy_of(chosen_.clip_policy));
    else
      trainer_ = std::make_unique<trainer_type>(std::move(program), door_, settings());
    // Everybody has read what it needs before anything in --out is moved, cut or written.
    weft::transport::all_or_none(
        door_, [&] { read_state(); }, deadline);
    weft::transport::facts start;
    start.add("step to go on from", std::to_string(trainer_->steps_done()));
    start.add("file of weights to start from (XXH3 of samples)", started_from_);
    weft::transport::require_agreement(door_, start, deadline);
    weft::transport::all_or_none(
        door_, [&] { open_files(trainer_->steps_done()); }, deadline);
  }

  void run() {
    describe(headline<Model>(chosen_, door_.size(), layers_, copies_));
    if (is_root_) describe_devices();
    std::cout << std::flush;
    std::int64_t step = trainer_->steps_done();
    loss_of const evaluate = [&](weft::model::token_batch const& each) { return trainer_->evaluate(each); };
    progress bar(std::cout, is_root_ && progress::on_terminal(), is_root_ ? chosen_.log_every : chosen_.steps + 2);
    if (chosen_.eval_every > 0 && step == 0) validate(step, bar, evaluate);
    auto const begin = clock::now();
    std::int64_t const first = step;
    auto signals = std::make_optional<stop_signals>();
    while (step < chosen_.steps) {
      if (is_stop_wanted()) trainer_->request_stop();
      if (trace_ != nullptr) trace_->before(step + 1, *trainer_);
      auto const step_begin = clock::now();
      auto const results = play(step);
      double const seconds = seconds_since(step_begin) / static_cast<double>(results.size());
      for (auto const& each : results) {
        ++step;
        report(step, each, seconds, seconds_since(begin), step - first, bar);
      }
      auto const& result = results.back();
      if (trace_ != nullptr) trace_->after(step, *trainer_);
      bool const is_last = step == chosen_.steps;
      if (result.is_stop_requested && !is_last) {
        save(step);
        if (trace_ != nullptr) trace_->finish(*trainer_);
        bar.finish();
        if (is_root_) std::cout << "stopped at step " << step << " as asked; go on with --resume\n" << std::flush;
        is_stopped_ = true;
        return;
      }
      if (!is_last && chosen_.eval_every > 0 && step % chosen_.eval_every == 0) validate(step, bar, evaluate);
      if (chosen_.save_every > 0 && (step % chosen_.save_every == 0 || is_last)) save(step);
    }
    signals.reset();
    bar.finish();
    validate(step, bar, evaluate);
    if (!std::isfinite(validation_loss_))
      throw weft::agreed_error("the validation loss is not finite after step " + std::to_string(step) +
                               "; the training diverged: lower --lr, or raise --warmup");
    export_weights();
    conclude(step, first, seconds_since(begin));
    if (chosen_.sample_bytes > 0)
      sample([&](weft::model::token_batch const& one, int position) { return trainer_->logits(one, position); });
  }

  using training_base::is_stopped;

 private:
  /// The next step, or the steps of the next window. Collective.
  auto play(std::int64_t step) {
    auto const made = [&](batch_arrays& arrays, std::int64_t number, int micro_batches) {
      sampler_->fill(static_cast<std::uint64_t>(number), chosen_.batch, arrays);
      return batch(arrays, micro_batches, static_cast<std::uint64_t>(number), true);
    };
    if constexpr (plays_windows) {
      window_.resize(static_cast<std::size_t>(window_steps(chosen_, step)));
      std::vector<weft::model::token_batch> batches;
      for (auto& each : window_) {
        auto const number = step + static_cast<std::int64_t>(batches.size());
        batches.push_back(made(each, number, chosen_.micro_batches));
      }
      return trainer_->run(batches);
    } else {
      std::vector<weft::train::step_result> results;
      auto const note = [&](weft::train::step_result const& told) {
        if (told.step >= 0) results.push_back(told);
        return told.is_stop_requested;
      };
      // Where steps are validated afterwards, each tells of the one before; a trace wants its steps one by one.
      bool const looks_back = trainer_->is_post_validated() && trace_ == nullptr;
      std::int64_t const end = looks_back ? step + window_steps(chosen_, step) : step + 1;
      for (std::int64_t number = step; number < end; ++number) {
        if (number > step && is_stop_wanted()) trainer_->request_stop();
        if (note(trainer_->step(made(arrays_, number, trainer_->program().micro_batches)))) break;
      }
      note(trainer_->settle());
      return results;
    }
  }

  [[nodiscard]] weft::train::trainer_options settings() const {
    auto all = trainer_settings();
    // No rank knows in time whether all gradients are finite; 2^10 leaves them as much room above as below.
    if (plays_windows && own_precision == precision_kind::fp16) all.scaling = weft::train::loss_scaling::fixed(1024.0);
    all.build.messages =
        chosen_.transport == transport_kind::mpi ? weft::transport::mpi_text() : "threads of one process";
    return all;
  }

  /// By a short timing of every rank, where that is wanted: the same numbers on all of them. Collective.
  void find_speeds(int ranks) {
    weft::transport::facts start;
    start.add("--speeds", speeds_text(chosen_));
    weft::transport::require_agreement(door_, start, chosen_.timeout_seconds);
    if (chosen_.measure_speeds && chosen_.speeds.empty())
      chosen_.speeds = weft::train::measured_speeds<Model, numbers>(
          door_, weft::train::pipelines_of(ranks, door_.size()), largest_micro_batch(chosen_), chosen_.timeout_seconds);
  }

  /// Where to go on from. Every rank reads its own part.
  void read_state() {
    if (is_root_) out_ = std::make_unique<out_directory>(chosen_.out);
    // The word of a job that is queued again and again: the first time, there is nothing to go on from.
    if (chosen_.resume == "auto") {
      bool const is_first = !fs::is_directory(chosen_.out) || list_checkpoints(chosen_.out).empty();
      chosen_.resume = is_first ? std::nullopt : std::optional<std::string>("latest");
    }
    std::optional<checkpoint_reader> saved;
    if (chosen_.resume) {
      // One rank checks every byte; the others read what they need.
      if (is_root_)
        saved.emplace(*chosen_.resume == "latest" ? open_latest_checkpoint(chosen_.out)
                                                  : checkpoint_reader(*chosen_.resume));
      else
        saved.emplace(*chosen_.resume == "latest" ? newest() : fs::path(*chosen_.resume), false);
      std::vector<std::string> notes;
      auto const problems = resume_problems(saved->facts(), current_facts(0, trainer_->optimizer_steps()), notes);
      if (!problems.empty()) throw weft::error("mini_llm::checkpoint: " + problems.front());
      auto const parameters = weft::train::owned_parameters(*trainer_);
      saved->template require_model<float>(parameters);
      weft::train::restore_state(*trainer_, true, [&](char const* kind, auto const& parameter, float* out) {
        saved->template read<float>(kind, parameter, out);
      });
      started_from_ = identity_of(saved->path());
      trainer_->set_steps_done(saved->facts().step, saved->facts().optimizer_steps);
      if constexpr (!plays_windows)  // a run without a scale has left none
        if (saved->facts().loss_scale) trainer_->set_loss_scale(*saved->facts().loss_scale);
      if constexpr (plays_windows) {
        std::string const why = differs_from_carried(saved->facts().carried, chosen_, *trainer_);
        if (why.empty())
          take_up_carried(*saved, *trainer_);
        else
          notes.push_back(why + ": the run goes on from the newest weights");
      } else if (!saved->facts().carried.is_null()) {
        notes.push_back(
            "the checkpoint was written under an asynchronous schedule: the run goes on from the newest "
            "weights");
      }
      if (is_root_)
        for (auto const& note : notes) std::cout << "note: " << note << '\n';
    } else if (!chosen_.init.empty()) {
      require_same_configuration(chosen_.init, facts_of<Model>());
      started_from_ = identity_of(chosen_.init);
      init_weights const weights(chosen_.init, weft::train::owned_parameters(*trainer_));
      weft::train::restore_state(*trainer_, false,
                                 [&](char const*, auto const& parameter, float* out) { weights.read(parameter, out); });
    }
  }

  /// Where ranks may differ, or compute on devices: which has what.
  void describe_devices() const {
    auto const& cards = trainer_->cards();
    bool const has_devices =
        std::any_of(cards.begin(), cards.end(), [](auto const& each) { return each.whose != weft::vendor::host; });
    if (!chosen_.mixed && !has_devices) return;
    std::cout << trainer_->device_map();
    for (auto const& each : weft::transport::differences(cards)) std::cout << "note: " << each << '\n';
    std::cout << "note: all ranks have plan, model, data and options in common (fingerprint " << cards[0].fingerprint
              << ")\n";
  }

  template <class Result>
  void report(std::int64_t step, Result const& result, double step_seconds, double elapsed, std::int64_t done,
              progress& bar) {
    bool const is_reported = step % chosen_.log_every == 0 || step == 1 || step == chosen_.steps;
    if (is_reported) share_ = ideal_share(*trainer_);  // collective
    std::string skipped = "the gradient is not finite; no weight was changed";
    if constexpr (plays_windows) {
      skipped = "a gradient is not finite; no weight was changed on stage";
      for (int const stage : result.skipped_stages) skipped += " " + std::to_string(stage);
    }
    training_base::report(step, result, skipped, step_seconds, elapsed, done, bar);
  }

  /// Collective.
  void save(std::int64_t step) {
    std::optional<checkpoint_writer<float>> writer;
    auto facts = current_facts(step, trainer_->optimizer_steps());
    if constexpr (!plays_windows)
      if (trainer_->has_dynamic_loss_scale()) facts.loss_scale = trainer_->loss_scale();
    std::vector<carried_tensor> carried;
    if constexpr (plays_windows) {
      facts.carried = carried_facts(chosen_, *trainer_, weft::train::collect_carried_numbers(*trainer_));
      carried = carried_tensors(*trainer_);
    }
    if (is_root_) {
      losses_->sync();
      metrics_->sync();
      writer.emplace(chosen_.out, facts, weft::train::owned_parameters(*trainer_), carried);
    }
    auto const write = [&](std::string const& kind, auto const& parameter, std::span<float const> values) {
      writer->write(kind, parameter.name, values);
    };
    weft::train::collect_state(*trainer_, true, write);
    if constexpr (plays_windows) weft::train::collect_carried(*trainer_, write);
    if (is_root_) writer->commit();
  }

  /// Collective.
  void export_weights() {
    std::optional<safetensors_writer> writer;
    if (is_root_)
      writer.emplace(begin_export<float>(out_->file("model.safetensors"), weft::train::owned_parameters(*trainer_)));
    weft::train::collect_state(*trainer_, false,
                               [&](char const*, auto const& parameter, std::span<float const> values) {
                                 writer->write<float>(parameter.name, values);
                               });
    if (is_root_) writer->commit();
  }

  std::unique_ptr<trainer_type> trainer_;
};

/// A training under any schedule.
template <class Model>
void run_training(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  if (is_asynchronous(chosen))
    training<Model, weft::train::asynchronous_trainer<Model, numbers>>(chosen, door, executable).run();
  else
    training<Model>(chosen, door, executable).run();
}

}  // namespace mini_llm
