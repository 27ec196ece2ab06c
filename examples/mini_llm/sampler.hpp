// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "draw.hpp"
#include "token_stream.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// Which windows of the data are learnt at which step, and which ones the loss is validated on.
///
/// A window of length T at token s has the inputs [s, s + T) and the targets [s + 1, s + T + 1). Nothing here has a
/// state: the window of (seed, step, sample) is computed, so it is the same on any number of ranks, and a resumed run
/// needs the step alone (the cursor that checkpoints hold). Does not communicate.

namespace mini_llm {

/// Host arrays of a batch: [sequences][sequence_length], row-major; a target of -1 is not counted in the loss.
struct batch_arrays {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  std::int64_t counted_tokens = 0;

  void resize(int sequences, int sequence_length);
};

namespace detail {

void copy_window(token_stream const& data, std::int64_t start, int sequence_length, std::int32_t* inputs,
                 std::int32_t* targets);

}  // namespace detail

/// Draws training windows, each uniformly from all there are, with replacement.
class training_sampler {
 public:
  /// Errors: data without a single window.
  training_sampler(token_stream data, int sequence_length, std::uint64_t seed);

  /// First token of the window that sequence `sample` of the whole batch has at `step`.
  [[nodiscard]] std::int64_t start(std::uint64_t step, std::uint64_t sample) const;

  /// Fills the whole batch of `step`, the same on every rank. Allocates on the first call only.
  void fill(std::uint64_t step, int sequences, batch_arrays& batch) const;

 private:
  token_stream data_;
  int sequence_length_;
  std::uint64_t seed_;
};

/// Fixed validation windows: evenly spaced, no token is predicted twice, the same in every run of one data and length.
class validation_windows {
 public:
  /// `batches` of `sequences` windows each; 0: as many as the data hold. Fewer where they are shorter: the last
  /// batch is then filled up with sequences that are not counted.
  validation_windows(token_stream data, int sequence_length, int sequences, int batches);

  [[nodiscard]] std::int64_t windows() const { return windows_; }
  [[nodiscard]] int batches() const { return static_cast<int>((windows_ + sequences_ - 1) / sequences_); }

  [[nodiscard]] std::int64_t start(std::int64_t window) const;

  void fill(int batch_index, batch_arrays& batch) const;

 private:
  token_stream data_;
  int sequence_length_;
  int sequences_;
  std::int64_t windows_ = 0;
};

}  // namespace mini_llm
