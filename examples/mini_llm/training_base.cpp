// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training_base.hpp"

#include "generate.hpp"
#include "model_config.hpp"
#include "plan_report.hpp"

#include <weft/execution/build_facts.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <span>

namespace mini_llm {

training_base::training_base(options const& chosen, weft::transport::endpoint& door, std::string const& executable,
                             model_facts const& model)
    : chosen_(chosen),
      door_(door),
      is_root_(door.rank() == 0),
      executable_(executable),
      model_(model) {}

void training_base::load() {
  require_possible(chosen_, chosen_.transport == transport_kind::in_process ? 1 : door_.size(), model_);
  data_ = load_data(chosen_.data.empty() ? default_data(WEFT_DOCUMENTATION_DIR) : fs::path(chosen_.data),
                    chosen_.format, model_.vocabulary, to_text(chosen_.preset));
  require_sequence_fits(data_, chosen_.sequence_length);
  sampler_ = std::make_unique<training_sampler>(data_.training, chosen_.sequence_length, chosen_.seed);
  validation_ = std::make_unique<validation_windows>(data_.validation, chosen_.sequence_length, chosen_.batch,
                                                     chosen_.eval_batches);
}

weft::train::trainer_options training_base::trainer_settings() const {
  weft::train::trainer_options settings;
  settings.extents = largest_micro_batch(chosen_);
  settings.optimizer.weight_decay = chosen_.weight_decay;
  settings.learning_rate = {chosen_.learning_rate, chosen_.warmup, chosen_.steps, 0.1};
  settings.clip = chosen_.clip;
  settings.seed = chosen_.seed;
  settings.dropout = chosen_.dropout;
  if (chosen_.precision == precision_kind::tf32) settings.products = weft::blas::math_mode::tf32;
  settings.capture = chosen_.capture;
  settings.deadline = chosen_.timeout_seconds;
  settings.record_times = true;
  settings.reduction = weft::collective::all_reduce_choice(chosen_.reduce);
  settings.gradient_groups = chosen_.gradient_groups;
  settings.partition = layers_.ranges();
  settings.build.facts = {{"executable (XXH3)", executable_}};
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

void training_base::open_files(std::int64_t step) {
  if (auto const steps = traced_steps(chosen_, step); steps.first > 0)
    trace_ = std::make_unique<step_trace>(chosen_.trace, steps, is_root_);
  if (!is_root_) return;
  if (chosen_.resume) {
    auto const aside = set_later_checkpoints_aside(*out_, step);
    if (!aside.empty()) std::cout << "checkpoints beyond step " << step << " were moved to " << aside.string() << '\n';
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
  write_text("out", out_->file("config.json"), hugging_face_config(model_, chosen_.dropout).dump(2) + "\n");
}

fs::path training_base::newest() const {
  auto const found = list_checkpoints(chosen_.out);
  if (found.empty())
    throw weft::error("mini_llm::checkpoint: " + chosen_.out +
                      " holds no checkpoint to resume from; leave --resume away, "
                      "or name a file with --resume FILE");
  return found.front().path;
}

checkpoint_facts training_base::current_facts(std::int64_t step, std::int64_t optimizer_steps) const {
  checkpoint_facts facts;
  facts.step = step;
  facts.optimizer_steps = optimizer_steps;
  facts.seed = chosen_.seed;
  facts.sampler_cursor = static_cast<std::uint64_t>(step);
  facts.data_hash = data_.hash;
  facts.configuration = resume_configuration(chosen_, copies_);
  return facts;
}

weft::model::token_batch training_base::batch(batch_arrays const& arrays, int micro_batches, std::uint64_t step,
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

void training_base::describe(std::string const& headline) {
  if (!is_root_) return;
  for (auto const& note : data_.notes) std::cout << "note: " << note << '\n';
  entropy_ = data_.entropy(model_.vocabulary);
  std::printf("data: %zu documents, %lld %ss to train on, %lld to validate on; %s %.4f nats per %s\n",
              data_.documents.size(), static_cast<long long>(data_.training.size()), data_.unit(),
              static_cast<long long>(data_.validation.size()), data_.entropy_name(), entropy_, data_.unit());
  std::fflush(stdout);
  std::cout << headline;
  std::cout << std::flush;
}

void training_base::report(std::int64_t step, weft::train::step_result const& result, std::string const& skipped,
                           double step_seconds, double elapsed, std::int64_t done, progress& bar) {
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
  if (result.is_skipped) bar.note("step " + std::to_string(step) + ": " + skipped + " (lower --lr?)");
}

void training_base::validate(std::int64_t step, progress& bar, loss_of const& evaluate) {
  double sum = 0.0;
  std::int64_t tokens = 0;
  for (int index = 0; index < validation_->batches(); ++index) {
    validation_->fill(index, arrays_);
    sum += evaluate(batch(arrays_, all_micro_batches(chosen_), 0, false)) * static_cast<double>(arrays_.counted_tokens);
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

void training_base::conclude(std::int64_t step, std::int64_t first, double seconds) const {
  if (!is_root_) return;
  double const tokens = static_cast<double>(step - first) * chosen_.batch * chosen_.sequence_length;
  std::printf("trained %lld steps in %.1f s (%.0f tokens/s); validation loss %.4f, %s %.4f\n",
              static_cast<long long>(step - first), seconds, seconds > 0.0 ? tokens / seconds : 0.0, validation_loss_,
              data_.entropy_name(), entropy_);
  std::printf("weights: %s (with config.json, for Hugging Face's %s)\n", out_->file("model.safetensors").c_str(),
              hugging_face_class(model_));
  std::fflush(stdout);
}

void training_base::sample(logits_of const& logits_at) {
  if (!data_.is_text()) {
    if (is_root_) std::cout << "no sample: the data are token numbers, and mini_llm knows no tokenizer\n" << std::flush;
    return;
  }
  std::vector<std::uint8_t> bytes(chosen_.prompt.begin(), chosen_.prompt.end());
  batch_arrays one;
  one.resize(1, chosen_.sequence_length);
  std::fill(one.targets.begin(), one.targets.end(), -1);
  one.counted_tokens = 1;  // nothing is: the loss of this batch is not asked for
  for (int drawn = 0; drawn < chosen_.sample_bytes; ++drawn) {
    auto const window = fill_context(bytes, chosen_.sequence_length, one.inputs.data());
    auto const logits = logits_at(batch(one, 1, 0, false), window.column);
    // Bytes are tokens: a vocabulary that is larger has no use for the rest.
    bytes.push_back(static_cast<std::uint8_t>(
        next_byte(std::span(logits).first(256), {chosen_.temperature, chosen_.top_k}, chosen_.seed, bytes.size())));
  }
  if (!is_root_) return;
  std::string const text = printable(bytes);
  write_text("out", out_->file("sample.txt"), text + "\n");
  std::cout << "--- sample ---\n" << text << "\n--- end of sample ---\n" << std::flush;
}

}  // namespace mini_llm
