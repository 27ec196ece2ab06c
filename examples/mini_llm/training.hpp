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
#include "options.hpp"
#include "out_directory.hpp"
#include "plan_report.hpp"
#include "progress.hpp"
#include "sampler.hpp"
#include "step_trace.hpp"
#include "stop_signal.hpp"
#include "token_data.hpp"
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

template <class Model, class Trainer = weft::train::trainer<Model, float>>
class training {
 public:
  using trainer_type = Trainer;
  /// It plays several steps at once: an asynchronous trainer.
  static constexpr bool plays_windows = requires(Trainer & trainer) { trainer.begun_at(); };

  /// Collective. Throws the same `weft::agreed_error` on every rank if anything is missing or does not fit.
  training(options const& chosen, weft::transport::endpoint& door, std::string const& executable)
      : chosen_(chosen),
        door_(door),
        is_root_(door.rank() == 0),
        executable_(executable) {
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
      trainer_ = std::make_unique<trainer_type>(windows_of(chosen_, door_.size()), door_, trainer_settings(),
                                                weft::train::clip_policy_of(chosen_.clip_policy));
    else
      trainer_ = std::make_unique<trainer_type>(std::move(program), door_, trainer_settings());
    // Everybody has read what it needs before anything in --out is moved, cut or written.
    weft::transport::all_or_none(
        door_, [&] { read_state(); }, deadline);
    weft::transport::facts start;
    start.add("step to go on from", std::to_string(trainer_->steps_done()));
    start.add("file of weights to start from (XXH3 of samples)", started_from_);
    weft::transport::require_agreement(door_, start, deadline);
    weft::transport::all_or_none(
        door_, [&] { open_files(); }, deadline);
  }

  void run() {
    describe();
    std::int64_t step = trainer_->steps_done();
    progress bar(std::cout, is_root_ && progress::on_terminal(), is_root_ ? chosen_.log_every : chosen_.steps + 2);
    if (chosen_.eval_every > 0 && step == 0) validate(step, bar);
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
      if (!is_last && chosen_.eval_every > 0 && step % chosen_.eval_every == 0) validate(step, bar);
      if (chosen_.save_every > 0 && (step % chosen_.save_every == 0 || is_last)) save(step);
    }
    signals.reset();
    bar.finish();
    validate(step, bar);
    if (!std::isfinite(validation_loss_))
      throw weft::agreed_error("the validation loss is not finite after step " + std::to_string(step) +
                               "; the training diverged: lower --lr, or raise --warmup");
    export_weights();
    conclude(step, first, seconds_since(begin));
    if (chosen_.sample_bytes > 0) sample();
  }

  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  using clock = std::chrono::steady_clock;

  static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

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

  /// What needs no other rank.
  void load() {
    require_possible(chosen_, chosen_.transport == transport_kind::in_process ? 1 : door_.size(), facts_of<Model>());
    data_ = load_data(chosen_.data.empty() ? default_data(WEFT_DOCUMENTATION_DIR) : fs::path(chosen_.data),
                      chosen_.format, facts_of<Model>().vocabulary, to_text(chosen_.preset));
    require_sequence_fits(data_, chosen_.sequence_length);
    sampler_ = std::make_unique<training_sampler>(data_.training, chosen_.sequence_length, chosen_.seed);
    validation_ = std::make_unique<validation_windows>(data_.validation, chosen_.sequence_length, chosen_.batch,
                                                       chosen_.eval_batches);
  }

  /// By a short timing of every rank, where that is wanted: the same numbers on all of them. Collective.
  void find_speeds(int ranks) {
    weft::transport::facts start;
    start.add("--speeds", speeds_text(chosen_));
    weft::transport::require_agreement(door_, start, chosen_.timeout_seconds);
    if (chosen_.measure_speeds && chosen_.speeds.empty())
      chosen_.speeds = weft::train::measured_speeds<Model, float>(
          door_, weft::train::pipelines_of(ranks, door_.size()), largest_micro_batch(chosen_), chosen_.timeout_seconds);
  }

  weft::train::trainer_options trainer_settings() const {
    weft::train::trainer_options settings;
    settings.extents = largest_micro_batch(chosen_);
    settings.optimizer.weight_decay = chosen_.weight_decay;
    settings.learning_rate = {chosen_.learning_rate, chosen_.warmup, chosen_.steps, 0.1};
    settings.clip = chosen_.clip;
    settings.seed = chosen_.seed;
    settings.dropout = chosen_.dropout;
    settings.deadline = chosen_.timeout_seconds;
    settings.record_times = true;
    settings.reduction = weft::collective::all_reduce_choice(chosen_.reduce);
    settings.gradient_groups = chosen_.gradient_groups;
    settings.partition = layers_.ranges();
    settings.build.facts = {{"executable (XXH3)", executable_}};
    settings.build.messages =
        chosen_.transport == transport_kind::mpi ? weft::transport::mpi_text() : "threads of one process";
    settings.mixed.several_builds = chosen_.mixed;
    settings.mixed.allowed_by = "--mixed";
    settings.facts = {{"data format", to_text(data_.format)},
                      {"data (XXH3)", std::to_string(data_.hash)},
                      {"options", resume_configuration(chosen_, copies_).dump()},
                      {"evaluation", std::to_string(chosen_.eval_every) + ", " + std::to_string(chosen_.eval_batches)},
                      {"save-every", std::to_string(chosen_.save_every)},
                      {"window", std::to_string(chosen_.window)},
                      {"trace", chosen_.trace.empty() ? "none" : trace_steps_text(chosen_)},
                      {"sample", std::to_string(chosen_.sample_bytes) + " bytes"}};
    return settings;
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
      auto const problems = resume_problems(saved->facts(), current_facts(0), notes);
      if (!problems.empty()) throw weft::error("mini_llm::checkpoint: " + problems.front());
      auto const parameters = weft::train::owned_parameters(*trainer_);
      saved->template require_model<float>(parameters);
      weft::train::restore_state(*trainer_, true, [&](char const* kind, auto const& parameter, float* out) {
        saved->template read<float>(kind, parameter, out);
      });
      started_from_ = identity_of(saved->path());
      trainer_->set_steps_done(saved->facts().step, saved->facts().optimizer_steps);
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

  /// Where to write: rank 0 alone.
  void open_files() {
    if (auto const steps = traced_steps(chosen_, trainer_->steps_done()); steps.first > 0)
      trace_ = std::make_unique<step_trace<trainer_type>>(chosen_.trace, steps, is_root_);
    if (!is_root_) return;
    std::int64_t const step = trainer_->steps_done();
    if (chosen_.resume) {
      auto const aside = set_later_checkpoints_aside(*out_, step);
      if (!aside.empty())
        std::cout << "checkpoints beyond step " << step << " were moved to " << aside.string() << '\n';
      losses_.emplace(loss_log::resume(out_->file("losses.csv"), step));
      metrics_.emplace(metrics_log::resume(out_->file("metrics.jsonl"), step));
      if (step > 0 && losses_->last_kept() != step)
        std::cout << "note: losses.csv does not hold the steps up to " << step << "; it goes on from here\n";
    } else {
      auto const aside = out_->set_earlier_run_aside();
      if (!aside.empty()) std::cout << "files of an earlier run were moved to " << aside.string() << '\n';
      losses_.emplace(loss_log::start(out_->file("losses.csv")));
      metrics_.emplace(metrics_log::start(out_->file("metrics.jsonl")));
    }
    nlohmann::ordered_json run{{"ranks", door_.size()},
                               {"data_format", to_text(data_.format)},
                               {"data_tokens", data_.training.size() + data_.validation.size()}};
    for (auto const& [name, value] : weft::execution::build_facts<Kokkos::DefaultExecutionSpace>()) run[name] = value;
    write_run_configuration(out_->file("config-run.json"), chosen_, run);
    write_text("out", out_->file("config.json"),
               hugging_face_config(facts_of<Model>(), chosen_.dropout).dump(2) + "\n");
  }

  [[nodiscard]] fs::path newest() const {
    auto const found = list_checkpoints(chosen_.out);
    if (found.empty())
      throw weft::error("mini_llm::checkpoint: " + chosen_.out +
                        " holds no checkpoint to resume from; leave --resume away, "
                        "or name a file with --resume FILE");
    return found.front().path;
  }

  [[nodiscard]] checkpoint_facts current_facts(std::int64_t step) const {
    checkpoint_facts facts;
    facts.step = step;
    facts.optimizer_steps = trainer_->optimizer_steps();
    facts.seed = chosen_.seed;
    facts.sampler_cursor = static_cast<std::uint64_t>(step);
    facts.data_hash = data_.hash;
    facts.configuration = resume_configuration(chosen_, copies_);
    return facts;
  }

  [[nodiscard]] weft::model::token_batch batch(batch_arrays const& arrays, int micro_batches, std::uint64_t step,
                                               bool is_training) const {
    weft::model::token_batch result;
    result.inputs = arrays.inputs.data();
    result.targets = arrays.targets.data();
    result.sequences = static_cast<int>(arrays.inputs.size()) / chosen_.sequence_length;
    result.sequence_length = chosen_.sequence_length;
    result.micro_batches = micro_batches;
    result.counted_tokens = arrays.counted_tokens;
    result.seed = chosen_.seed;
    result.step = step;
    result.training = is_training;
    return result;
  }

  void describe() {
    if (!is_root_) return;
    for (auto const& note : data_.notes) std::cout << "note: " << note << '\n';
    entropy_ = data_.entropy(facts_of<Model>().vocabulary);
    std::printf("data: %zu documents, %lld %ss to train on, %lld to validate on; %s %.4f nats per %s\n",
                data_.documents.size(), static_cast<long long>(data_.training.size()), data_.unit(),
                static_cast<long long>(data_.validation.size()), data_.entropy_name(), entropy_, data_.unit());
    std::fflush(stdout);
    std::cout << headline<Model>(chosen_, door_.size(), layers_, copies_);
    describe_devices();
    std::cout << std::flush;
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
    if (!is_root_) return;
    double const loss = result.loss;
    losses_->append(step, loss);
    double const seconds_a_step = elapsed / static_cast<double>(done);
    double const rate = static_cast<double>(result.tokens) / seconds_a_step;
    metrics_->append("step", step,
                     {{"loss", loss},
                      {"gradient_norm", result.gradient_norm},
                      {"learning_rate", result.learning_rate},
                      {"skipped", result.is_skipped},
                      {"tokens", result.tokens},
                      {"seconds", step_seconds},
                      {"ideal_share", share_}});
    bar.report({step, chosen_.steps, loss, rate, share_, seconds_a_step * static_cast<double>(chosen_.steps - step)});
    if (!result.is_skipped) return;
    if constexpr (plays_windows) {
      std::string stages;
      for (int const stage : result.skipped_stages) stages += " " + std::to_string(stage);
      bar.note("step " + std::to_string(step) + ": a gradient is not finite; no weight was changed on stage" + stages +
               " (lower --lr?)");
    } else {
      bar.note("step " + std::to_string(step) + ": the gradient is not finite; no weight was changed (lower --lr?)");
    }
  }

  /// Collective.
  void validate(std::int64_t step, progress& bar) {
    double sum = 0.0;
    std::int64_t tokens = 0;
    for (int index = 0; index < validation_->batches(); ++index) {
      validation_->fill(index, arrays_);
      sum += trainer_->evaluate(batch(arrays_, all_micro_batches(chosen_), 0, false)) *
             static_cast<double>(arrays_.counted_tokens);
      tokens += arrays_.counted_tokens;
    }
    validation_loss_ = sum / static_cast<double>(tokens);
    if (!is_root_) return;
    metrics_->append("validation", step, {{"loss", validation_loss_}, {"tokens", tokens}});
    char line[96];
    std::snprintf(line, sizeof line, "step %lld: validation loss %.4f (%s %.4f)", static_cast<long long>(step),
                  validation_loss_, data_.entropy_name(), entropy_);
    bar.note(line);
  }

  /// Collective.
  void save(std::int64_t step) {
    std::optional<checkpoint_writer<float>> writer;
    auto facts = current_facts(step);
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

  void conclude(std::int64_t step, std::int64_t first, double seconds) const {
    if (!is_root_) return;
    double const tokens = static_cast<double>(step - first) * chosen_.batch * chosen_.sequence_length;
    std::printf("trained %lld steps in %.1f s (%.0f tokens/s); validation loss %.4f, %s %.4f\n",
                static_cast<long long>(step - first), seconds, seconds > 0.0 ? tokens / seconds : 0.0, validation_loss_,
                data_.entropy_name(), entropy_);
    std::printf("weights: %s (with config.json, for Hugging Face's %s)\n", out_->file("model.safetensors").c_str(),
                hugging_face_class(facts_of<Model>()));
    std::fflush(stdout);
  }

  /// Collective: every byte goes through the pipeline.
  void sample() {
    if (!data_.is_text()) {
      if (is_root_)
        std::cout << "no sample: the data are token numbers, and mini_llm knows no tokenizer\n" << std::flush;
      return;
    }
    std::vector<std::uint8_t> bytes(chosen_.prompt.begin(), chosen_.prompt.end());
    batch_arrays one;
    one.resize(1, chosen_.sequence_length);
    std::fill(one.targets.begin(), one.targets.end(), -1);
    one.counted_tokens = 1;  // nothing is: the loss of this batch is not asked for
    for (int drawn = 0; drawn < chosen_.sample_bytes; ++drawn) {
      auto const window = fill_context(bytes, chosen_.sequence_length, one.inputs.data());
      auto const logits = trainer_->logits(batch(one, 1, 0, false), window.column);
      // Bytes are tokens: a vocabulary that is larger has no use for the rest.
      bytes.push_back(static_cast<std::uint8_t>(
          next_byte(std::span(logits).first(256), {chosen_.temperature, chosen_.top_k}, chosen_.seed, bytes.size())));
    }
    if (!is_root_) return;
    std::string const text = printable(bytes);
    write_text("out", out_->file("sample.txt"), text + "\n");
    std::cout << "--- sample ---\n" << text << "\n--- end of sample ---\n" << std::flush;
  }

  options chosen_;
  weft::transport::endpoint& door_;
  bool is_root_;
  std::string executable_;
  token_data data_;
  std::unique_ptr<training_sampler> sampler_;
  std::unique_ptr<validation_windows> validation_;
  std::unique_ptr<trainer_type> trainer_;
  std::unique_ptr<out_directory> out_;
  std::unique_ptr<step_trace<trainer_type>> trace_;
  std::optional<loss_log> losses_;
  std::optional<metrics_log> metrics_;
  batch_arrays arrays_;
  std::vector<batch_arrays> window_;  // of each step of a window
  weft::topology::partition layers_;  // over the stages of one pipeline
  int copies_ = 1;                    // of the model, in one pipeline
  std::string started_from_ = "none";
  double entropy_ = 0.0;
  double share_ = -1.0;
  double validation_loss_ = 0.0;
  bool is_stopped_ = false;
};

/// A training under any schedule.
template <class Model>
void run_training(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  if (is_asynchronous(chosen))
    training<Model, weft::train::asynchronous_trainer<Model, float>>(chosen, door, executable).run();
  else
    training<Model>(chosen, door, executable).run();
}

}  // namespace mini_llm
