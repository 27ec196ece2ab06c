// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check.hpp"
#include "checkpoint.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "out_directory.hpp"
#include "progress.hpp"
#include "sampler.hpp"
#include "step_trace.hpp"
#include "token_data.hpp"

#include <weft/model/token_batch.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/endpoint.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mini_llm {

/// What of a training knows neither its model nor its trainer: options, data, files and reports. Every rank has one;
/// rank 0 alone prints and writes.
class training_base {
 public:
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 protected:
  using clock = std::chrono::steady_clock;

  static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  /// Of a batch: the mean loss; the logits at a position of its first sequence. Collective.
  using loss_of = std::function<double(weft::model::token_batch const&)>;
  using logits_of = std::function<std::vector<float>(weft::model::token_batch const&, int)>;

  training_base(options const& chosen, weft::transport::endpoint& door, std::string const& executable,
                model_facts const& model);
  ~training_base() = default;
  training_base(training_base const&) = delete;
  training_base& operator=(training_base const&) = delete;

  /// What needs no other rank.
  void load();
  [[nodiscard]] weft::train::trainer_options trainer_settings() const;
  /// Where to write: rank 0 alone. `step`: done so far.
  void open_files(std::int64_t step);
  /// The newest checkpoint in --out. Errors: there is none.
  [[nodiscard]] fs::path newest() const;
  [[nodiscard]] checkpoint_facts current_facts(std::int64_t step, std::int64_t optimizer_steps) const;
  [[nodiscard]] weft::model::token_batch batch(batch_arrays const& arrays, int micro_batches, std::uint64_t step,
                                               bool is_training) const;

  void describe(std::string const& headline);
  /// `skipped`: what to say where the step changed no weight.
  void report(std::int64_t step, weft::train::step_result const& result, std::string const& skipped,
              double step_seconds, double elapsed, std::int64_t done, progress& bar);
  /// Collective, as `evaluate` is.
  void validate(std::int64_t step, progress& bar, loss_of const& evaluate);
  void conclude(std::int64_t step, std::int64_t first, double seconds) const;
  /// Collective: every byte goes through the pipeline.
  void sample(logits_of const& logits_at);

  options chosen_;
  weft::transport::endpoint& door_;
  bool is_root_;
  std::string executable_;
  model_facts model_;
  token_data data_;
  std::unique_ptr<training_sampler> sampler_;
  std::unique_ptr<validation_windows> validation_;
  std::unique_ptr<out_directory> out_;
  std::unique_ptr<step_trace> trace_;
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

}  // namespace mini_llm
