// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sampler.hpp"

namespace mini_llm {

void batch_arrays::resize(int sequences, int sequence_length) {
  auto const tokens = static_cast<std::size_t>(sequences) * static_cast<std::size_t>(sequence_length);
  inputs.resize(tokens);
  targets.resize(tokens);
}

namespace detail {

void copy_window(token_stream const& data, std::int64_t start, int sequence_length, std::int32_t* inputs,
                 std::int32_t* targets) {
  data.copy(start, 1, inputs);
  data.copy(start + 1, sequence_length, targets);
  std::copy(targets, targets + sequence_length - 1, inputs + 1);
}

}  // namespace detail

training_sampler::training_sampler(token_stream data, int sequence_length, std::uint64_t seed)
    : data_(std::move(data)),
      sequence_length_(sequence_length),
      seed_(seed) {
  if (sequence_length < 1 || data_.size() <= sequence_length)
    throw weft::error("mini_llm::sampler: data of " + std::to_string(data_.size()) +
                      " tokens have no window of length " + std::to_string(sequence_length) + "; lengths from 1 to " +
                      std::to_string(std::max<std::int64_t>(data_.size() - 1, 0)) + " are possible");
}

std::int64_t training_sampler::start(std::uint64_t step, std::uint64_t sample) const {
  auto const windows = static_cast<std::uint64_t>(data_.size() - sequence_length_);
  return static_cast<std::int64_t>(draw_below(windows, seed_, draw_purpose::training_window, step, sample));
}

void training_sampler::fill(std::uint64_t step, int sequences, batch_arrays& batch) const {
  batch.resize(sequences, sequence_length_);
  for (int sample = 0; sample < sequences; ++sample) {
    std::size_t const row = static_cast<std::size_t>(sample) * static_cast<std::size_t>(sequence_length_);
    detail::copy_window(data_, start(step, static_cast<std::uint64_t>(sample)), sequence_length_,
                        batch.inputs.data() + row, batch.targets.data() + row);
  }
  batch.counted_tokens = static_cast<std::int64_t>(sequences) * sequence_length_;
}

validation_windows::validation_windows(token_stream data, int sequence_length, int sequences, int batches)
    : data_(std::move(data)),
      sequence_length_(sequence_length),
      sequences_(sequences) {
  std::int64_t const most = data_.size() == 0 ? 0 : (data_.size() - 1) / sequence_length;
  if (most < 1)
    throw weft::error("mini_llm::sampler: a validation part of " + std::to_string(data_.size()) +
                      " tokens has no window of length " + std::to_string(sequence_length) +
                      "; choose a smaller --seq");
  windows_ = batches == 0 ? most : std::min<std::int64_t>(most, static_cast<std::int64_t>(batches) * sequences);
}

std::int64_t validation_windows::start(std::int64_t window) const {
  // Room for `windows_` windows exists, so neighbours are at least a window apart after rounding down, too.
  auto const last = data_.size() - 1 - sequence_length_;
  return windows_ == 1 ? 0 : window * last / (windows_ - 1);
}

void validation_windows::fill(int batch_index, batch_arrays& batch) const {
  batch.resize(sequences_, sequence_length_);
  batch.counted_tokens = 0;
  for (int sample = 0; sample < sequences_; ++sample) {
    std::size_t const row = static_cast<std::size_t>(sample) * static_cast<std::size_t>(sequence_length_);
    std::int64_t const window = static_cast<std::int64_t>(batch_index) * sequences_ + sample;
    if (window < windows_) {
      detail::copy_window(data_, start(window), sequence_length_, batch.inputs.data() + row,
                          batch.targets.data() + row);
      batch.counted_tokens += sequence_length_;
    } else {
      std::fill_n(batch.inputs.data() + row, sequence_length_, 0);
      std::fill_n(batch.targets.data() + row, sequence_length_, -1);
    }
  }
}

}  // namespace mini_llm
