// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_trace.hpp"

namespace mini_llm {

namespace {

std::string in_nanoseconds(double seconds) {
  return std::to_string(static_cast<long long>(std::llround(seconds * 1e9))) + " ns";
}

}  // namespace

step_range traced_steps(options const& chosen, std::int64_t done) {
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

trace_file::trace_file(fs::path const& path) {
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

void trace_file::write(weft::profiling::trace_events const& events, weft::profiling::trace_facts const& facts) {
  try {
    weft::profiling::write_chrome_trace(events, facts, [&](std::string_view piece) { append(piece); });
    flush();
    file_->commit();
  } catch (weft::error const& failure) {
    std::fprintf(stderr, "note: there is no trace: %s\n", failure.what());
  }
}

void trace_file::append(std::string_view piece) {
  pending_ += piece;
  if (pending_.size() > (1U << 20U)) flush();
}

void trace_file::flush() {
  file_->write(pending_);
  pending_.clear();
}

weft::profiling::trace_facts facts_of_trace(weft::schedule::program_view const& program,
                                            weft::schedule::cost_model const& model,
                                            weft::schedule::timeline const& plan, std::vector<double> const& clocks,
                                            std::int64_t first, std::int64_t last) {
  auto const& version = weft::version;
  weft::profiling::trace_facts all{
      {"written by", "mini_llm of weft " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                         std::to_string(version.patch)},
      {"program", program.name},
      {"micro-batches", std::to_string(program.micro_batches)},
      {"steps", std::to_string(first) + " to " + std::to_string(last)},
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

step_trace::step_trace(fs::path const& path, step_range steps, bool is_root) : steps_(steps) {
  if (is_root) file_ = std::make_unique<trace_file>(path);
}

void step_trace::finish(weft::transport::endpoint& door, double deadline, weft::schedule::program_view const& program,
                        weft::transport::endpoint& pipeline, int index) {
  if (is_finished_ || recorded_.empty()) return;
  is_finished_ = true;
  namespace profiling = weft::profiling;

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
  profiling::trace_recorder recorder(program, {pipeline.rank(), ranks, index});
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
  file_->write(events, facts_of_trace(program, model, plan, all_clocks, recorded_.front().step, recorded_.back().step));
  file_.reset();
}

}  // namespace mini_llm
