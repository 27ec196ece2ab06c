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
inline step_range traced_steps(options const& chosen, std::int64_t done) {
  if (chosen.trace.empty()) {
    if (chosen.trace_first > 0)
      throw weft::error("mini_llm::trace: --trace-steps says when to record, and nothing where to; add --trace FILE");
    return {};
  }
  if (chosen.steps <= done)
    throw weft::error("mini_llm::trace: --trace " + chosen.trace + " has no step to record, since the run does none; " +
                      "raise --steps above " + std::to_string(done) + ", or leave --trace away");
  if (chosen.trace_first == 0) return {std::min(done + 3, chosen.steps), std::min(done + 5, chosen.steps)};
  step_range const asked{chosen.trace_first, chosen.trace_last};
  if (asked.first <= done || asked.last > chosen.steps)
    throw weft::error("mini_llm::trace: --trace-steps " + std::to_string(asked.first) + ":" +
                      std::to_string(asked.last) + " is not within the steps of this run; " + std::to_string(done + 1) +
                      ":" + std::to_string(chosen.steps) + " are there");
  return asked;
}

/// Records steps of one rank and writes the file on rank 0. Reads clocks that the engine reads anyway: no bit of the
/// training depends on it.
template <class Trainer>
class step_trace {
 public:
  /// Opens the file (rank 0), so that a path that cannot be written ends the run before it begins. Does not
  /// communicate.
  step_trace(fs::path const& path, step_range steps, bool is_root) : steps_(steps) {
    if (!is_root) return;
    std::error_code code;
    auto const refuse = [&](std::string const& what) {
      throw weft::error("mini_llm::trace: " + path.string() + " " + what + "; choose another path for --trace");
    };
    auto const status = fs::symlink_status(path, code);
    if (fs::exists(status) && !fs::is_regular_file(status)) refuse("is no regular file, and would be replaced by one");
    if (path.extension() != ".json" || path.filename() == "config.json" || path.filename() == "config-run.json")
      refuse("is no name for a trace: it ends in .json, and is not one of the run's own files");
    if (fs::exists(status) && fs::file_size(path, code) > 0) {
      std::string_view const opening = weft::profiling::trace_opening;
      std::string begin(opening.size(), ' ');
      std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
      if (begin != opening) refuse("holds something else than a trace, which would be lost");
    }
    file_ = std::make_unique<atomic_file>("trace", path);
  }

  /// Before step `step` (from 1). Collective at the first one that is recorded.
  void before(std::int64_t step, Trainer& trainer) {
    if (step == steps_.first) clock_ = weft::profiling::compare_clocks(trainer.door(), trainer.deadline());
  }

  /// After it; writes the file after the last one. Collective then.
  void after(std::int64_t step, Trainer& trainer) {
    if (!steps_.holds(step)) return;
    auto const& engine = trainer.engine_of_training();
    recorded_.push_back({step, weft::profiling::seconds_of(engine.last_step_begin()), engine.times()});
    if (step == steps_.last) finish(trainer);
  }

  /// Writes what there is, for a run that stops early. Collective.
  void finish(Trainer& trainer) {
    if (is_finished_ || recorded_.empty()) return;
    is_finished_ = true;
    namespace profiling = weft::profiling;
    auto& door = trainer.door();
    double const deadline = trainer.deadline();
    auto const program = trainer.program();
    auto& pipeline = trainer.ranks().pipeline();

    double const clocks[3] = {clock_.error, profiling::compare_clocks(door, deadline).seconds - clock_.seconds,
                              clock_.seconds};
    std::vector<double> all_clocks(3 * static_cast<std::size_t>(door.size()));
    weft::transport::all_gather(door, clocks, sizeof clocks, all_clocks.data(), deadline);

    profiling::measured_costs costs(program);
    for (auto const& each : recorded_) costs.add(pipeline.rank(), each.times);
    auto const model = costs.share(door, 0.5 * clock_.round_trip, deadline);
    auto const plan = weft::schedule::make_timeline(program, model);

    std::vector<int> ranks;
    for (int rank = 0; rank < pipeline.size(); ++rank) ranks.push_back(pipeline.global_rank(rank));
    profiling::trace_recorder recorder(program, {pipeline.rank(), ranks, trainer.ranks().index()});
    std::vector<double> begins(static_cast<std::size_t>(door.size()));
    double earliest = 0.0;  // of the next planned step: plans do not overlap
    for (auto const& each : recorded_) {
      double const begin = each.begin + clock_.seconds;
      weft::transport::all_gather(door, &begin, sizeof begin, begins.data(), deadline);
      earliest = std::max(earliest, *std::min_element(begins.begin(), begins.end()));
      recorder.add_measured(static_cast<int>(each.step), each.times, begin);
      recorder.add_planned(static_cast<int>(each.step), plan, earliest);
      earliest += plan.summary.makespan;
    }
    auto const events = profiling::gather(door, recorder.events(), deadline);
    if (file_ == nullptr) return;
    try {
      profiling::write_chrome_trace(events, facts(program, model, plan, all_clocks),
                                    [&](std::string_view piece) { write(piece); });
      flush();
      file_->commit();
    } catch (weft::error const& failure) {  // a diagnosis does not cost the run
      std::fprintf(stderr, "note: there is no trace: %s\n", failure.what());
    }
    file_.reset();
  }

 private:
  struct recorded_step {
    std::int64_t step;
    double begin;  ///< seconds, this rank's clock
    std::vector<weft::action_time> times;
  };

  static std::string in_nanoseconds(double seconds) {
    return std::to_string(static_cast<long long>(std::llround(seconds * 1e9))) + " ns";
  }

  [[nodiscard]] weft::profiling::trace_facts facts(weft::schedule::program_view const& program,
                                                   weft::schedule::cost_model const& model,
                                                   weft::schedule::timeline const& plan,
                                                   std::vector<double> const& clocks) const {
    auto const& version = weft::version;
    weft::profiling::trace_facts all{
        {"written by", "mini_llm of weft " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                           std::to_string(version.patch)},
        {"program", program.name},
        {"micro-batches", std::to_string(program.micro_batches)},
        {"steps", std::to_string(recorded_.front().step) + " to " + std::to_string(recorded_.back().step)},
        {"planned",
         "the program's cost with each stage's mean measured times, from the earliest rank's begin of the "
         "same step; a message takes half of an empty round trip"},
        {"planned makespan", in_nanoseconds(plan.summary.makespan)},
        {"planned hop", in_nanoseconds(model.hop)}};
    for (std::size_t rank = 1; 3 * rank < clocks.size(); ++rank)
      all.emplace_back("clock of rank " + std::to_string(rank),
                       "moved by " + in_nanoseconds(clocks[3 * rank + 2]) + " to rank 0's, within " +
                           in_nanoseconds(clocks[3 * rank]) + "; apart by another " +
                           in_nanoseconds(clocks[3 * rank + 1]) + " after the last step");
    return all;
  }

  void write(std::string_view piece) {
    pending_ += piece;
    if (pending_.size() > (1U << 20U)) flush();
  }
  void flush() {
    file_->write(pending_);
    pending_.clear();
  }

  step_range steps_;
  std::unique_ptr<atomic_file> file_;
  std::vector<recorded_step> recorded_;
  weft::profiling::clock_offset clock_;
  std::string pending_;
  bool is_finished_ = false;
};

}  // namespace mini_llm
