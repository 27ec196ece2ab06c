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

/// A global batch in host memory, or a part of one. Not owned; must live through `begin`.
struct token_batch {
  std::int32_t const* inputs = nullptr;   ///< [sequences][sequence_length], each in [0, vocabulary)
  std::int32_t const* targets = nullptr;  ///< the same shape; -1: not counted in the loss
  int sequences = 0;
  int sequence_length = 0;
  int micro_batches = 1;            ///< of all groups together; see `micro_batch_range`
  std::int64_t counted_tokens = 0;  ///< targets >= 0 in the whole batch: loss and gradients are means over these
  std::uint64_t seed = 0;           ///< keys of dropout's random numbers, with the sequence's index in the global batch
  std::uint64_t step = 0;
  bool training = true;    ///< false: no dropout
  int groups = 1;          ///< gradient groups, each cut into micro_batches / groups micro-batches
  int copies = 1;          ///< of `groups`, as many as are on different ranks, each on a copy of the model
  int first_sequence = 0;  ///< index in the global batch of this part's first sequence
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

/// The same of a batch that is cut twice: into groups, and each group into its micro-batches.
constexpr sequence_range micro_batch_range(token_batch const& batch, int index) {
  int const each = batch.micro_batches / batch.groups;
  sequence_range const group = micro_batch_range(batch.sequences, batch.groups, index / each);
  sequence_range const inside = micro_batch_range(group.count, each, index % each);
  return {group.first + inside.first, inside.count};
}

/// Groups [first, first + count) of a batch that is cut into `groups`.
constexpr sequence_range group_range(int sequences, int groups, int first, int count) {
  int const begin = micro_batch_range(sequences, groups, first).first;
  sequence_range const last = micro_batch_range(sequences, groups, first + count - 1);
  return {begin, last.first + last.count - begin};
}

/// The gradient group of a micro-batch.
constexpr int group_of(token_batch const& batch, int micro_batch) {
  return micro_batch / (batch.micro_batches / batch.groups);
}

/// The accumulator of a micro-batch: groups that are on copies of the model have one each, on ranks of their own.
constexpr int accumulator_of(token_batch const& batch, int micro_batch) {
  return group_of(batch, micro_batch) / batch.copies;
}

/// `sequences` of a batch from `first` on, as `micro_batches` of one group. Loss and gradients stay means over the
/// tokens of the whole.
constexpr token_batch part_of(token_batch const& batch, sequence_range which, int micro_batches) {
  token_batch part = batch;
  std::int64_t const before = static_cast<std::int64_t>(which.first) * batch.sequence_length;
  part.inputs = batch.inputs + before;
  part.targets = batch.targets + before;
  part.sequences = which.count;
  part.micro_batches = micro_batches;
  part.groups = 1;
  part.copies = 1;
  part.first_sequence = batch.first_sequence + which.first;
  return part;
}

static_assert(micro_batch_range(7, 3, 0) == sequence_range{0, 3} && micro_batch_range(7, 3, 2) == sequence_range{5, 2});
static_assert(micro_batch_range(2, 3, 2) == sequence_range{2, 0});
static_assert(micro_batch_range(token_batch{.sequences = 7, .micro_batches = 4, .groups = 2}, 2) ==
              sequence_range{4, 2});
static_assert(group_range(10, 4, 0, 2) == sequence_range{0, 6} && group_range(10, 4, 2, 2) == sequence_range{6, 4});

}  // namespace weft::inline v1::model
