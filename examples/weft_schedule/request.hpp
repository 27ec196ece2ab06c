// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/error.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/shape.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// What can be asked of weft-schedule. `main.cpp` fills it from the command line.

namespace weft_schedule {

/// The user can mend it: one line, exit status 2.
class usage_error : public weft::error {
 public:
  using error::error;
};

struct cost_options {
  double forward = 1.0;
  double input_gradient = 1.0;
  double weight_gradient = 1.0;
  double hop = 0.0;
  std::string per_stage;  ///< file with a line per stage; empty: all alike
  bool per_rank = false;  ///< the durations are of all that a rank holds, not of one stage
  bool given = false;     ///< any of the above
};

struct request {
  std::string name;
  int ranks = 0;
  int micro_batches = 0;
  weft::schedule::shape shape;
  std::vector<int> replicas;  ///< what `shape.replicas` points to
  cost_options costs;

  // show
  std::string format = "text";
  bool lower = false;
  bool strict_pytorch = false;
  std::string color = "auto";
  int width = 0;  ///< 0: the terminal's

  // check
  std::string file;
  std::string sends = "rendezvous";
  bool old_letters = false;
  int copies = 0;  ///< 0: as the file says, or as its rows do

  // compare
  double memory = 0.0;  ///< activations; 0: any
  int weight_copies = 2;
};

/// "1 rank", "2 ranks".
inline std::string counted(std::int64_t count, char const* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

inline constexpr int most_ranks = 4096;
inline constexpr std::int64_t most_passes = std::int64_t{1} << 24;

inline void require_duration(char const* option, double value, bool may_be_zero) {
  if (std::isfinite(value) && value <= 1e15 && (may_be_zero ? value >= 0.0 : value > 0.0)) return;
  throw usage_error(std::string(option) + ": " + std::to_string(value) + " is no duration; use a finite number " +
                    (may_be_zero ? "of 0 or more" : "above 0"));
}

/// Throws for sizes that nobody can have meant; rules of a schedule are the schedule's own.
inline void require_size(request const& asked) {
  if (asked.ranks < 1 || asked.ranks > most_ranks)
    throw usage_error("--ranks: " + std::to_string(asked.ranks) + " is outside 1 .. " + std::to_string(most_ranks) +
                      "; choose one inside");
  if (asked.micro_batches < 1)
    throw usage_error("--micro-batches: " + std::to_string(asked.micro_batches) +
                      " is below 1; use at least one micro-batch");
  weft::schedule::shape const& shape = asked.shape;
  for (int const each : {shape.chunks, shape.group, shape.waves, shape.memory_limit, shape.steps, shape.steps_before})
    if (each < 0)
      throw usage_error("--chunks, --group, --waves, --limit, --steps and --steps-before: " + std::to_string(each) +
                        " is below 0; leave the option out for the schedule's own");
  std::int64_t const stages = (shape.chunks > 2 ? shape.chunks : 2) + std::int64_t{2} * shape.waves;
  if (stages * asked.ranks > 65534 || stages * asked.ranks * asked.micro_batches > most_passes)
    throw usage_error(std::to_string(asked.ranks) + " ranks and " + std::to_string(asked.micro_batches) +
                      " micro-batches of so many stages are more than this program draws or times (65534 stages, " +
                      std::to_string(most_passes) + " forwards); use fewer");
}

}  // namespace weft_schedule
