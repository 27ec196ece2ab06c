// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/model/token_batch.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

/// Tokens with something to learn: each follows from the one before, with noise.
class token_source {
 public:
  token_source(int vocabulary, int sequences, int length, unsigned seed) : sequences_(sequences), length_(length) {
    std::mt19937 random(seed + 1);
    for (int sequence = 0; sequence < sequences; ++sequence) {
      auto token = static_cast<std::int32_t>(random() % static_cast<unsigned>(vocabulary));
      for (int position = 0; position < length; ++position) {
        inputs_.push_back(token);
        token = random() % 4 == 0 ? static_cast<std::int32_t>(random() % static_cast<unsigned>(vocabulary))
                                  : (token * 3 + 1) % vocabulary;
        targets_.push_back(token);
      }
    }
  }

  /// Leaves most targets of the first sequences out of the loss, few of the last ones.
  void ignore_unevenly() {
    for (int sequence = 0; sequence < sequences_; ++sequence)
      for (int position = 0; position < length_ - 2 * sequence; ++position)
        targets_[static_cast<std::size_t>(sequence * length_ + position)] = -1;
  }

  void reverse_sequences() {
    auto const reverse = [&](std::vector<std::int32_t>& tokens) {
      std::reverse(tokens.begin(), tokens.end());  // all of it, then each sequence back
      for (int sequence = 0; sequence < sequences_; ++sequence)
        std::reverse(tokens.begin() + sequence * length_, tokens.begin() + (sequence + 1) * length_);
    };
    reverse(inputs_);
    reverse(targets_);
  }

  [[nodiscard]] weft::model::token_batch view(int micro_batches, std::uint64_t step) const {
    weft::model::token_batch batch;
    batch.inputs = inputs_.data();
    batch.targets = targets_.data();
    batch.sequences = sequences_;
    batch.sequence_length = length_;
    batch.micro_batches = micro_batches;
    for (auto const target : targets_) batch.counted_tokens += target >= 0 ? 1 : 0;
    batch.seed = 11;
    batch.step = step;
    return batch;
  }

 private:
  int sequences_;
  int length_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
};
