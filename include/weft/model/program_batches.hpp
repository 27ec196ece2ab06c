// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/model/token_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::inline v1::model {

/// Throws weft::error unless the batch fits buffers for `largest` and so many accumulators of gradients.
inline void check_size(token_batch const& batch, extents largest, int accumulators) {
  auto const refuse = [](std::string const& message) { throw error("weft::model_stage: " + message); };
  if (batch.micro_batches < 1 || batch.sequences < 0)
    refuse("a batch of " + std::to_string(batch.sequences) + " sequences cannot be cut into " +
           std::to_string(batch.micro_batches) + " micro-batches; name at least one");
  if (batch.groups < 1 || batch.copies < 1 || batch.groups > accumulators * batch.copies ||
      batch.groups % batch.copies != 0 || batch.micro_batches % batch.groups != 0)
    refuse(std::to_string(batch.micro_batches) + " micro-batches in " + std::to_string(batch.groups) +
           " gradient groups, where there are accumulators for " + std::to_string(accumulators * batch.copies) +
           "; use that many groups or fewer, of equally many micro-batches");
  if (batch.sequence_length < 1 || batch.sequence_length > largest.sequence_length)
    refuse("sequences have " + std::to_string(batch.sequence_length) + " tokens, buffers are for " +
           std::to_string(largest.sequence_length) + "; raise extents::sequence_length or cut the sequences");
  if (micro_batch_range(batch, 0).count > largest.sequences_per_micro_batch)
    refuse("a micro-batch has " + std::to_string(micro_batch_range(batch, 0).count) + " sequences, buffers are for " +
           std::to_string(largest.sequences_per_micro_batch) +
           "; raise extents::sequences_per_micro_batch or the number of micro-batches");
}

/// The same unless each of `count` tokens is in [smallest, vocabulary). `what` they are is for its words.
inline void check_tokens(std::int32_t const* tokens, std::int64_t count, std::int32_t smallest, int vocabulary,
                         char const* what) {
  for (std::int64_t index = 0; index < count; ++index)
    if (tokens[index] < smallest || tokens[index] >= vocabulary)
      throw error("weft::model_stage: " + std::string(what) + " number " + std::to_string(index) + " is " +
                  std::to_string(tokens[index]) + ", outside the vocabulary of " + std::to_string(vocabulary) +
                  "; check how the text was made into tokens");
}

/// Throws weft::error unless the batch fits, and its tokens are in the vocabulary where a layer of this rank reads
/// them.
template <class Model>
void check_batch(token_batch const& batch, extents largest, int accumulators, bool has_inputs, bool has_targets) {
  check_size(batch, largest, accumulators);
  std::int64_t const tokens = static_cast<std::int64_t>(batch.sequences) * batch.sequence_length;
  if (has_inputs) check_tokens(batch.inputs, tokens, 0, Model::vocabulary, "input");
  if (has_targets) check_tokens(batch.targets, tokens, -1, Model::vocabulary, "target");
}

/// The batches that one program plays, one or more: its micro-batches are those of the first one, then those of the
/// next, of each equally many.
class program_batches {
 public:
  /// A micro-batch of the program: the batch it belongs to, and its number there.
  struct share {
    token_batch const& batch;
    int micro_batch;

    [[nodiscard]] sequence_range range() const { return micro_batch_range(batch, micro_batch); }
    [[nodiscard]] extents size() const { return {range().count, batch.sequence_length}; }
    [[nodiscard]] int accumulator() const { return accumulator_of(batch, micro_batch); }
  };

  /// Throws weft::error where they are cut into different numbers of micro-batches.
  void assign(std::span<token_batch const> batches) {
    for (token_batch const& each : batches)
      if (each.micro_batches != batches[0].micro_batches)
        throw error("weft::model_stage: one program plays batches of " + std::to_string(batches[0].micro_batches) +
                    " and of " + std::to_string(each.micro_batches) +
                    " micro-batches; cut all of them into equally many");
    batches_.assign(batches.begin(), batches.end());
  }

  [[nodiscard]] std::size_t micro_batches() const {
    return batches_.size() * static_cast<std::size_t>(batches_[0].micro_batches);
  }
  [[nodiscard]] share operator[](int micro_batch) const {
    int const each = batches_[0].micro_batches;
    return {batches_[static_cast<std::size_t>(micro_batch / each)], micro_batch % each};
  }

 private:
  std::vector<token_batch> batches_{token_batch{}};
};

}  // namespace weft::inline v1::model
