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
  needs_known_name,        ///< there is no such schedule
  too_many_stages,         ///< more than an action can number (65,535)
  too_many_micro_batches   ///< more messages than fit an index
};

/// The answer of a policy's `check`: legal, or which rule is broken by which value, and the nearest legal one.
struct validity {
  rule broken = rule::none;
  int value = 0;    ///< what was asked for
  int nearest = 0;  ///< the nearest legal value

  [[nodiscard]] constexpr bool legal() const { return broken == rule::none; }
  friend constexpr bool operator==(validity const&, validity const&) = default;
};

/// What every pipeline schedule needs.
constexpr validity check_at_least_one(int ranks, int micro_batches) {
  if (ranks < 1) return {rule::needs_a_rank, ranks, 1};
  if (ranks > 65535) return {rule::too_many_stages, ranks, 65535};
  if (micro_batches < 1) return {rule::needs_a_micro_batch, micro_batches, 1};
  constexpr int most = 1 << 28;  // stages x micro-batches, so that indices of messages stay in an int
  if (micro_batches > most / ranks) return {rule::too_many_micro_batches, micro_batches, most / ranks};
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
    case rule::needs_known_name: return WEFT_WORDS_NEEDS_KNOWN_NAME;
    case rule::too_many_stages: return WEFT_WORDS_TOO_MANY_STAGES;
    case rule::too_many_micro_batches: return WEFT_WORDS_TOO_MANY_MICRO_BATCHES;
  }
  return "a rule is broken";
}

/// "weft::schedule::serial: the serial schedule runs on 1 rank; start 1 rank, or ... (asked for 4, nearest legal 1)".
inline std::string explain(validity const& found, std::string const& name) {
  std::string text = "weft::schedule::" + name + ": " + words_of(found.broken);
  if (found.broken != rule::none && found.broken != rule::needs_known_name)
    text += " (asked for " + std::to_string(found.value) + ", nearest legal " + std::to_string(found.nearest) + ")";
  return text;
}

}  // namespace weft::inline v1::schedule
