// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "draw.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// Which windows of the text are learnt at which step, and which ones the loss is validated on.
///
/// A window of length T at byte s has the inputs [s, s + T) and the targets [s + 1, s + T + 1). Nothing here has a
/// state: the window of (seed, step, sample) is computed, so it is the same on any number of ranks, and a resumed run
/// needs the step alone (the cursor that checkpoints hold). Does not communicate.

namespace mini_llm {

/// Host arrays of a batch: [sequences][sequence_length], row-major; a target of -1 is not counted in the loss.
struct batch_arrays {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  std::int64_t counted_tokens = 0;

  void resize(int sequences, int sequence_length) {
    auto const tokens = static_cast<std::size_t>(sequences) * static_cast<std::size_t>(sequence_length);
    inputs.resize(tokens);
    targets.resize(tokens);
  }
};

namespace detail {

inline void copy_window(std::span<std::uint8_t const> text, std::int64_t start, int sequence_length,
                        std::int32_t* inputs, std::int32_t* targets) {
  for (int position = 0; position < sequence_length; ++position) {
    auto const place = static_cast<std::size_t>(start + position);
    inputs[position] = text[place];
    targets[position] = text[place + 1];
  }
}

}  // namespace detail

/// Draws training windows, each uniformly from all of the text's, with replacement.
class training_sampler {
 public:
  /// `text` must outlive the sampler. Errors: a text without a single window.
  training_sampler(std::span<std::uint8_t const> text, int sequence_length, std::uint64_t seed)
      : text_(text),
        sequence_length_(sequence_length),
        seed_(seed) {
    if (sequence_length < 1 || static_cast<std::int64_t>(text.size()) <= sequence_length)
      throw weft::error("mini_llm::sampler: a text of " + std::to_string(text.size()) +
                        " bytes has no window of length " + std::to_string(sequence_length) + "; lengths from 1 to " +
                        std::to_string(std::max<std::int64_t>(static_cast<std::int64_t>(text.size()) - 1, 0)) +
                        " are possible");
  }

  /// First byte of the window that sequence `sample` of the whole batch has at `step`.
  [[nodiscard]] std::int64_t start(std::uint64_t step, std::uint64_t sample) const {
    auto const windows = static_cast<std::uint64_t>(text_.size()) - static_cast<std::uint64_t>(sequence_length_);
    return static_cast<std::int64_t>(draw_below(windows, seed_, draw_purpose::training_window, step, sample));
  }

  /// Fills the whole batch of `step`, the same on every rank. Allocates on the first call only.
  void fill(std::uint64_t step, int sequences, batch_arrays& batch) const {
    batch.resize(sequences, sequence_length_);
    for (int sample = 0; sample < sequences; ++sample) {
      std::size_t const row = static_cast<std::size_t>(sample) * static_cast<std::size_t>(sequence_length_);
      detail::copy_window(text_, start(step, static_cast<std::uint64_t>(sample)), sequence_length_,
                          batch.inputs.data() + row, batch.targets.data() + row);
    }
    batch.counted_tokens = static_cast<std::int64_t>(sequences) * sequence_length_;
  }

 private:
  std::span<std::uint8_t const> text_;
  int sequence_length_;
  std::uint64_t seed_;
};

/// Fixed validation windows: evenly spaced, no byte is predicted twice, the same in every run of one data and length.
class validation_windows {
 public:
  /// `batches` of `sequences` windows each; 0: as many as the text holds. Fewer where the text is shorter: the last
  /// batch is then filled up with sequences that are not counted.
  validation_windows(std::span<std::uint8_t const> text, int sequence_length, int sequences, int batches)
      : text_(text),
        sequence_length_(sequence_length),
        sequences_(sequences) {
    std::int64_t const most =
        text.empty() ? 0 : (static_cast<std::int64_t>(text.size()) - 1) / static_cast<std::int64_t>(sequence_length);
    if (most < 1)
      throw weft::error("mini_llm::sampler: a validation part of " + std::to_string(text.size()) +
                        " bytes has no window of length " + std::to_string(sequence_length) +
                        "; choose a smaller --seq");
    windows_ = batches == 0 ? most : std::min<std::int64_t>(most, static_cast<std::int64_t>(batches) * sequences);
  }

  [[nodiscard]] std::int64_t windows() const { return windows_; }
  [[nodiscard]] int batches() const { return static_cast<int>((windows_ + sequences_ - 1) / sequences_); }

  [[nodiscard]] std::int64_t start(std::int64_t window) const {
    // Room for `windows_` windows exists, so neighbours are at least a window apart after rounding down, too.
    auto const last = static_cast<std::int64_t>(text_.size()) - 1 - sequence_length_;
    return windows_ == 1 ? 0 : window * last / (windows_ - 1);
  }

  void fill(int batch_index, batch_arrays& batch) const {
    batch.resize(sequences_, sequence_length_);
    batch.counted_tokens = 0;
    for (int sample = 0; sample < sequences_; ++sample) {
      std::size_t const row = static_cast<std::size_t>(sample) * static_cast<std::size_t>(sequence_length_);
      std::int64_t const window = static_cast<std::int64_t>(batch_index) * sequences_ + sample;
      if (window < windows_) {
        detail::copy_window(text_, start(window), sequence_length_, batch.inputs.data() + row,
                            batch.targets.data() + row);
        batch.counted_tokens += sequence_length_;
      } else {
        std::fill_n(batch.inputs.data() + row, sequence_length_, 0);
        std::fill_n(batch.targets.data() + row, sequence_length_, -1);
      }
    }
  }

 private:
  std::span<std::uint8_t const> text_;
  int sequence_length_;
  int sequences_;
  std::int64_t windows_ = 0;
};

}  // namespace mini_llm
