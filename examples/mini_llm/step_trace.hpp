// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"
#include "options.hpp"

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/profiling/chrome_trace.hpp>
#include <weft/profiling/clock_offset.hpp>
#include <weft/profiling/measured_costs.hpp>
#include <weft/profiling/trace.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `--trace`: a few steps of the training as a timeline, planned and measured side by side for every rank.

namespace mini_llm {

struct step_range {
  std::int64_t first = 0;  ///< steps count from 1, as they are printed
  std::int64_t last = -1;
  [[nodiscard]] bool holds(std::int64_t step) const { return first <= step && step <= last; }
};

/// Which steps `--trace` records in a run that goes on from `done`: those asked for, else its third to fifth (the first
/// ones still warm up), or the last ones of a run that is shorter. Errors: steps that the run does not do.
step_range traced_steps(options const& chosen, std::int64_t done);

/// The file that a trace goes to, open on one rank.
class trace_file {
 public:
  /// Errors: a path that cannot be written, or whose file is something else than a trace and would be lost.
  explicit trace_file(fs::path const& path);

  /// Writes all of it and puts the file in place. What fails is told on standard error: a diagnosis does not cost the
  /// run.
  void write(weft::profiling::trace_events const& events, weft::profiling::trace_facts const& facts);

 private:
  void append(std::string_view piece);
  void flush();

  std::unique_ptr<atomic_file> file_;
  std::string pending_;
};

/// What stands at the head of a trace of steps [first, last]. `clocks`: of each rank its comparison's error, how far
/// the clocks have moved apart since, and by how much they are moved, in seconds.
weft::profiling::trace_facts facts_of_trace(weft::schedule::program_view const& program,
                                            weft::schedule::cost_model const& model,
                                            weft::schedule::timeline const& plan, std::vector<double> const& clocks,
                                            std::int64_t first, std::int64_t last);

/// Records steps of one rank and writes the file on rank 0. Reads clocks that the engine reads anyway: no bit of the
/// training depends on it.
class step_trace {
 public:
  /// Opens the file (rank 0), so that a path that cannot be written ends the run before it begins. Does not
  /// communicate.
  step_trace(fs::path const& path, step_range steps, bool is_root);

  /// Before step `step` (from 1). Collective at the first one that is recorded.
  template <class Trainer>
  void before(std::int64_t step, Trainer& trainer) {
    if (step == steps_.first) clock_ = weft::profiling::compare_clocks(trainer.door(), trainer.deadline());
  }

  /// After it; writes the file after the last one. Collective then.
  template <class Trainer>
  void after(std::int64_t step, Trainer& trainer) {
    if (!steps_.holds(step)) return;
    auto const& engine = trainer.engine_of_training();
    recorded_.push_back({step, weft::profiling::seconds_of(engine.last_step_begin()), engine.times()});
    if (step == steps_.last) finish(trainer);
  }

  /// Writes what there is, for a run that stops early. Collective.
  template <class Trainer>
  void finish(Trainer& trainer) {
    finish(trainer.door(), trainer.deadline(), trainer.program(), trainer.ranks().pipeline(), trainer.ranks().index());
  }

 private:
  struct recorded_step {
    std::int64_t step;
    double begin;  ///< seconds, this rank's clock
    std::vector<weft::action_time> times;
  };

  /// `pipeline`: to the ranks of this rank's own pipeline, which is number `index` of the job.
  void finish(weft::transport::endpoint& door, double deadline, weft::schedule::program_view const& program,
              weft::transport::endpoint& pipeline, int index);

  step_range steps_;
  std::unique_ptr<trace_file> file_;
  std::vector<recorded_step> recorded_;
  weft::profiling::clock_offset clock_;
  bool is_finished_ = false;
};

}  // namespace mini_llm
