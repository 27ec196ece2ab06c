// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

/// Quartiles of a sample; `at(0.5)` is the median.
inline double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  double const place = fraction * static_cast<double>(values.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

/// Median and quartiles as counters `<name>`, `<name>_q1`, `<name>_q3`: the noise stands beside the figure.
inline void add_quartiles(benchmark::State& state, std::string const& name, std::vector<double> const& values) {
  state.counters[name] = quantile(values, 0.5);
  state.counters[name + "_q1"] = quantile(values, 0.25);
  state.counters[name + "_q3"] = quantile(values, 0.75);
}

/// Processor and git hash, into the report's context.
inline void add_machine_facts() {
  auto const line_of = [](char const* command) {
    std::string text;
    if (FILE* const pipe = popen(command, "r")) {
      char buffer[256];
      while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
      pclose(pipe);
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  };
  benchmark::AddCustomContext("processor", line_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1"));
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("git", line_of("git -C '" WEFT_SOURCE_DIR "' describe --always --dirty 2>/dev/null"));
}

/// Says nothing: ranks other than 0 run the same benchmarks and leave the report to rank 0.
class silent_reporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const&) override {}
};

}  // namespace bench
