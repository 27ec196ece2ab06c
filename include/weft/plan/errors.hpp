// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/verdict.hpp>
#include <weft/topology/partition.hpp>

#include <cstdint>

/// @file
/// Templates whose arguments are a finding and whose body is the sentence about it: where a plan is bad, g++, clang and
/// nvcc print both, the sentence as the error and the arguments as its context.

namespace weft::inline v1 {

/// The arguments: which rule is broken, the value that breaks it, and the nearest legal one.
template <schedule::rule Broken, int Value, int Nearest>
struct schedule_must_be_legal {
  static_assert(Broken != schedule::rule::needs_a_rank, "weft::schedule: " WEFT_WORDS_NEEDS_A_RANK);
  static_assert(Broken != schedule::rule::needs_a_micro_batch, "weft::schedule: " WEFT_WORDS_NEEDS_A_MICRO_BATCH);
  static_assert(Broken != schedule::rule::needs_exactly_one_rank, "weft::schedule: " WEFT_WORDS_NEEDS_EXACTLY_ONE_RANK);
  static_assert(Broken != schedule::rule::micro_batches_multiple, "weft::schedule: " WEFT_WORDS_MICRO_BATCHES_MULTIPLE);
  static_assert(Broken != schedule::rule::needs_a_chunk, "weft::schedule: " WEFT_WORDS_NEEDS_A_CHUNK);
  static_assert(Broken != schedule::rule::needs_even_ranks, "weft::schedule: " WEFT_WORDS_NEEDS_EVEN_RANKS);
  static_assert(Broken != schedule::rule::needs_even_micro_batches,
                "weft::schedule: " WEFT_WORDS_NEEDS_EVEN_MICRO_BATCHES);
  static_assert(Broken != schedule::rule::micro_batches_per_rank, "weft::schedule: " WEFT_WORDS_MICRO_BATCHES_PER_RANK);
  static_assert(Broken != schedule::rule::needs_the_tables_ranks, "weft::schedule: " WEFT_WORDS_NEEDS_THE_TABLES_RANKS);
  static_assert(Broken != schedule::rule::needs_the_tables_micro_batches,
                "weft::schedule: " WEFT_WORDS_NEEDS_THE_TABLES_MICRO_BATCHES);
  static_assert(Broken != schedule::rule::needs_a_wave, "weft::schedule: " WEFT_WORDS_NEEDS_A_WAVE);
  static_assert(Broken != schedule::rule::needs_even_chunks, "weft::schedule: " WEFT_WORDS_NEEDS_EVEN_CHUNKS);
  static_assert(Broken != schedule::rule::needs_a_group, "weft::schedule: " WEFT_WORDS_NEEDS_A_GROUP);
  static_assert(Broken != schedule::rule::group_fits, "weft::schedule: " WEFT_WORDS_GROUP_FITS);
  static_assert(Broken != schedule::rule::limit_holds_one, "weft::schedule: " WEFT_WORDS_LIMIT_HOLDS_ONE);
  static_assert(Broken != schedule::rule::kept_is_a_percentage, "weft::schedule: " WEFT_WORDS_KEPT_IS_A_PERCENTAGE);
  static_assert(Broken != schedule::rule::too_many_stages, "weft::schedule: " WEFT_WORDS_TOO_MANY_STAGES);
  static_assert(Broken != schedule::rule::too_many_micro_batches, "weft::schedule: " WEFT_WORDS_TOO_MANY_MICRO_BATCHES);
  static constexpr bool value = true;
};

/// The arguments: what is wrong (see schedule/verdict.hpp), and on which rank, stage and micro-batch.
template <schedule::defect What, int Rank, int Stage, int MicroBatch>
struct schedule_must_be_playable {
  static_assert(
      What != schedule::defect::deadlock,
      "weft::plan: the schedule deadlocks; the arguments of schedule_must_be_playable name the culprit: rank, "
      "stage and micro-batch where it stands; reorder its row");
  static_assert(
      What == schedule::defect::none || What == schedule::defect::deadlock,
      "weft::plan: the schedule cannot be played; the arguments of schedule_must_be_playable say what is wrong "
      "on which rank, stage and micro-batch; correct its row");
  static constexpr bool value = true;
};

/// The arguments: whether it fits, bytes needed by the heaviest rank, that rank, and bytes allowed.
template <bool Fits, std::int64_t Needed, int Rank, std::int64_t Limit>
struct memory_limit_must_hold {
  static_assert(Fits, "weft::plan: " WEFT_WORDS_MEMORY_LIMIT);
  static constexpr bool value = true;
};

/// The arguments: whether vendors meet where they may, and two ranks that hold the same layers on devices of two.
template <bool Legal, int One, int Other>
struct vendors_must_meet_along_the_pipeline {
  static_assert(
      Legal,
      "weft::plan: two ranks that hold the same layers, the arguments of vendors_must_meet_along_the_pipeline, "
      "are of different vendors; give every pipeline the same vendors in the same places, or add "
      "allow_mixed<data_axis>");
  static constexpr bool value = true;
};

/// The arguments: whether copies of the model are of one vendor, and two ranks that hold the same layers and are not.
template <bool Legal, int One, int Other>
struct copies_must_be_of_one_vendor {
  static_assert(
      Legal,
      "weft::plan: two ranks that hold the same layers in two copies of the model, the arguments of "
      "copies_must_be_of_one_vendor, are of different vendors; order the ranks such that both copies of a stage are of "
      "one vendor (cuda, hip, hip, cuda), or choose a schedule with one copy");
  static constexpr bool value = true;
};

/// The arguments: what is wrong (see topology/partition.hpp), layers found, and layers wanted.
template <topology::partition_fault Fault, int Found, int Wanted>
struct layers_must_add_up {
  static_assert(Fault != topology::partition_fault::wrong_sum,
                "weft::partition: the stages' layers do not add up to the model's; add or remove some");
  static_assert(Fault != topology::partition_fault::ends_need_layers,
                "weft::partition: the first or the last stage has no layers; only stages between them may be empty");
  static_assert(Fault != topology::partition_fault::negative_size,
                "weft::partition: a stage has a negative number of layers; use 0 or more");
  static constexpr bool value = true;
};

}  // namespace weft::inline v1
