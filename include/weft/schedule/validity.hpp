// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::schedule {

/// Which rule of a policy a pair (ranks, micro-batches) breaks.
enum class rule : std::uint8_t {
  none,                    ///< none is broken
  needs_a_rank,            ///< ranks < 1
  needs_a_micro_batch,     ///< micro_batches < 1
  needs_exactly_one_rank,  ///< serial
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

/// The sentence: "weft::schedule::serial: runs on 1 rank, not 4; start 1 rank, or choose gpipe or 1f1b".
inline std::string explain(validity const& found, std::string const& name) {
  std::string const where = "weft::schedule::" + name + ": ";
  std::string const value = std::to_string(found.value);
  std::string const nearest = std::to_string(found.nearest);
  switch (found.broken) {
    case rule::none: return where + "legal";
    case rule::needs_a_rank: return where + "ranks is " + value + "; use " + nearest + " or more";
    case rule::needs_a_micro_batch: return where + "micro_batches is " + value + "; use " + nearest + " or more";
    case rule::needs_exactly_one_rank:
      return where + "runs on 1 rank, not " + value + "; start 1 rank, or choose gpipe or 1f1b, which run on " + value;
    case rule::needs_known_name:
      return "weft::schedule: there is no schedule named \"" + name + "\"; choose serial, gpipe, 1f1b or forward_only";
    case rule::too_many_stages: return where + value + " stages are more than the " + nearest + " that can be numbered";
    case rule::too_many_micro_batches:
      return where + value + " micro-batches are more than the " + nearest + " that this program can hold";
  }
  return where + "broken rule";
}

}  // namespace weft::inline v1::schedule
