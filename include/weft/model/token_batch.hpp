// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// The largest micro-batch that will come: what buffers are made for. Also the actual one, where a layout is asked for.
struct extents {
  int sequences_per_micro_batch = 1;
  int sequence_length = 1;

  [[nodiscard]] constexpr std::int64_t tokens() const {
    return static_cast<std::int64_t>(sequences_per_micro_batch) * sequence_length;
  }

  friend constexpr bool operator==(extents const&, extents const&) = default;
};

/// A whole global batch in host memory, the same on every rank that needs it. Not owned; must live through `begin`.
struct token_batch {
  std::int32_t const* inputs = nullptr;   ///< [sequences][sequence_length], each in [0, vocabulary)
  std::int32_t const* targets = nullptr;  ///< the same shape; -1: not counted in the loss
  int sequences = 0;
  int sequence_length = 0;
  int micro_batches = 1;            ///< see `micro_batch_range`
  std::int64_t counted_tokens = 0;  ///< targets >= 0 in the whole batch: loss and gradients are means over these
  std::uint64_t seed = 0;           ///< keys of dropout's random numbers, with the sequence's index in the batch
  std::uint64_t step = 0;
  bool training = true;  ///< false: no dropout
};

/// Sequences [first, first + count) of a batch.
struct sequence_range {
  int first = 0;
  int count = 0;

  friend constexpr bool operator==(sequence_range const&, sequence_range const&) = default;
};

/// How `sequences` are cut into micro-batches: sizes differ by at most one, larger ones first; zero-sized where there
/// are more micro-batches than sequences.
constexpr sequence_range micro_batch_range(int sequences, int micro_batches, int index) {
  int const base = sequences / micro_batches;
  int const larger = sequences % micro_batches;
  int const before = index * base + (index < larger ? index : larger);
  return {before, base + (index < larger ? 1 : 0)};
}
constexpr sequence_range micro_batch_range(token_batch const& batch, int index) {
  return micro_batch_range(batch.sequences, batch.micro_batches, index);
}

static_assert(micro_batch_range(7, 3, 0) == sequence_range{0, 3} && micro_batch_range(7, 3, 2) == sequence_range{5, 2});
static_assert(micro_batch_range(2, 3, 2) == sequence_range{2, 0});

}  // namespace weft::inline v1::model
