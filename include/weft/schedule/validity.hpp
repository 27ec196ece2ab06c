// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/words.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::schedule {

/// Which rule of a policy a pair (ranks, micro-batches) breaks.
enum class rule : std::uint8_t {
  none,                    ///< none is broken
  needs_a_rank,            ///< ranks < 1
  needs_a_micro_batch,     ///< micro_batches < 1
  needs_exactly_one_rank,  ///< serial
  micro_batches_multiple,  ///< for policies that work in groups
  needs_a_chunk,           ///< chunks < 1
  needs_even_ranks,        ///< two copies of the model that enter at opposite ends
  needs_even_micro_batches,
  micro_batches_per_rank,  ///< too few to fill both directions
  needs_the_tables_ranks,  ///< custom: a table is for its own ranks
  needs_the_tables_micro_batches,
  needs_a_wave,       ///< waves < 1
  needs_even_chunks,  ///< waves go down and up: two chunks each
  needs_a_group,      ///< group < 0
  group_fits,         ///< a group between ranks and micro-batches, without a remainder smaller than ranks
  chunks_are_fixed,   ///< by name: chunks for a schedule that has its own number
  takes_no_group,     ///< by name: a group, waves or a limit for a schedule without them
  takes_no_waves,
  takes_no_limit,
  limit_holds_one,        ///< memory_limit < 1
  kept_is_a_percentage,   ///< kept_percent outside 0 .. 100
  takes_no_steps,         ///< by name: steps for a schedule whose table is one step
  needs_a_step,           ///< asynchronous: steps < 0
  steps_divide,           ///< asynchronous: as many micro-batches for each step
  steps_hold_warm_up,     ///< 2BW: a step has fewer micro-batches than the first rank's warm-up
  steps_before_fit,       ///< asynchronous: steps before the table outside 0 .. the oldest that it reads
  replicas_fill_ranks,    ///< replicated stages: their ranks are not as many as there are
  needs_a_replica,        ///< replicated stages: one has no rank
  too_many_copies,        ///< replicated stages: the least common multiple of their ranks is above 255
  takes_no_replicas,      ///< by name: replicas for a schedule without them
  versions_fit,           ///< asynchronous: more versions than a byte counts
  needs_known_name,       ///< there is no such schedule
  too_many_stages,        ///< more than an action can number (65,535)
  too_many_micro_batches  ///< more messages than fit an index
};

/// The answer of a policy's `check`: legal, or which rule is broken by which value, and the nearest legal one.
struct validity {
  rule broken = rule::none;
  int value = 0;    ///< what was asked for
  int nearest = 0;  ///< the nearest legal value

  [[nodiscard]] constexpr bool legal() const { return broken == rule::none; }
  friend constexpr bool operator==(validity const&, validity const&) = default;
};

/// What every pipeline schedule needs; `chunks` stages on each rank.
constexpr validity check_at_least_one(int ranks, int micro_batches, int chunks = 1) {
  if (ranks < 1) return {rule::needs_a_rank, ranks, 1};
  if (chunks < 1) return {rule::needs_a_chunk, chunks, 1};
  if (chunks > 65535) return {rule::too_many_stages, chunks, ranks < 65535 ? 65535 / ranks : 1};
  if (ranks > 65535 / chunks) return {rule::too_many_stages, ranks, 65535 / chunks};
  if (micro_batches < 1) return {rule::needs_a_micro_batch, micro_batches, 1};
  int const most = (1 << 28) / (ranks * chunks);  // stages x micro-batches, so that indices of messages stay in an int
  if (micro_batches > most) return {rule::too_many_micro_batches, micro_batches, most};
  return {};
}

/// What the static_assert of a plan says for the same rule.
constexpr char const* words_of(rule broken) {
  switch (broken) {
    case rule::none: return "legal";
    case rule::needs_a_rank: return WEFT_WORDS_NEEDS_A_RANK;
    case rule::needs_a_micro_batch: return WEFT_WORDS_NEEDS_A_MICRO_BATCH;
    case rule::needs_exactly_one_rank: return WEFT_WORDS_NEEDS_EXACTLY_ONE_RANK;
    case rule::micro_batches_multiple: return WEFT_WORDS_MICRO_BATCHES_MULTIPLE;
    case rule::needs_a_chunk: return WEFT_WORDS_NEEDS_A_CHUNK;
    case rule::needs_even_ranks: return WEFT_WORDS_NEEDS_EVEN_RANKS;
    case rule::needs_even_micro_batches: return WEFT_WORDS_NEEDS_EVEN_MICRO_BATCHES;
    case rule::micro_batches_per_rank: return WEFT_WORDS_MICRO_BATCHES_PER_RANK;
    case rule::needs_the_tables_ranks: return WEFT_WORDS_NEEDS_THE_TABLES_RANKS;
    case rule::needs_the_tables_micro_batches: return WEFT_WORDS_NEEDS_THE_TABLES_MICRO_BATCHES;
    case rule::needs_a_wave: return WEFT_WORDS_NEEDS_A_WAVE;
    case rule::needs_even_chunks: return WEFT_WORDS_NEEDS_EVEN_CHUNKS;
    case rule::needs_a_group: return WEFT_WORDS_NEEDS_A_GROUP;
    case rule::group_fits: return WEFT_WORDS_GROUP_FITS;
    case rule::chunks_are_fixed: return WEFT_WORDS_CHUNKS_ARE_FIXED;
    case rule::takes_no_group: return WEFT_WORDS_TAKES_NO_GROUP;
    case rule::takes_no_waves: return WEFT_WORDS_TAKES_NO_WAVES;
    case rule::takes_no_limit: return WEFT_WORDS_TAKES_NO_LIMIT;
    case rule::limit_holds_one: return WEFT_WORDS_LIMIT_HOLDS_ONE;
    case rule::kept_is_a_percentage: return WEFT_WORDS_KEPT_IS_A_PERCENTAGE;
    case rule::takes_no_steps: return WEFT_WORDS_TAKES_NO_STEPS;
    case rule::needs_a_step: return WEFT_WORDS_NEEDS_A_STEP;
    case rule::steps_divide: return WEFT_WORDS_STEPS_DIVIDE;
    case rule::steps_hold_warm_up: return WEFT_WORDS_STEPS_HOLD_WARM_UP;
    case rule::steps_before_fit: return WEFT_WORDS_STEPS_BEFORE_FIT;
    case rule::replicas_fill_ranks: return WEFT_WORDS_REPLICAS_FILL_RANKS;
    case rule::needs_a_replica: return WEFT_WORDS_NEEDS_A_REPLICA;
    case rule::too_many_copies: return WEFT_WORDS_TOO_MANY_COPIES;
    case rule::takes_no_replicas: return WEFT_WORDS_TAKES_NO_REPLICAS;
    case rule::versions_fit: return WEFT_WORDS_VERSIONS_FIT;
    case rule::needs_known_name: return WEFT_WORDS_NEEDS_KNOWN_NAME;
    case rule::too_many_stages: return WEFT_WORDS_TOO_MANY_STAGES;
    case rule::too_many_micro_batches: return WEFT_WORDS_TOO_MANY_MICRO_BATCHES;
  }
  return "a rule is broken";
}

/// Whether `nearest` of a rule's finding means anything.
constexpr bool has_nearest(rule broken) {
  return broken != rule::none && broken != rule::needs_known_name && broken != rule::takes_no_group &&
         broken != rule::takes_no_waves && broken != rule::takes_no_limit && broken != rule::takes_no_steps &&
         broken != rule::takes_no_replicas;
}

/// "weft::schedule::serial: the serial schedule runs on 1 rank; start 1 rank, or ... (asked for 4, nearest legal 1)".
inline std::string explain(validity const& found, std::string const& name) {
  std::string text = "weft::schedule::" + name + ": " + words_of(found.broken);
  if (has_nearest(found.broken))
    text += " (asked for " + std::to_string(found.value) + ", nearest legal " + std::to_string(found.nearest) + ")";
  return text;
}

}  // namespace weft::inline v1::schedule
