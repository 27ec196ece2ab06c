// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <string>

/// @file
/// Who may use which message tag. MPI promises no more than 0 .. 32,767, so everything that weft sends point to point
/// shares that range: edges of the stage graph first, then tied parameters, state transfer, and collectives.
///
///     0 ........................ 29,999 | 30,000 ......... 31,899 | 31,900 | 31,901, 31,902  | 32,000      | 32,001 ..
///     32,512 edges (message_tag)               | tied parameters          | state  | post-validation | collectives |
///     running ones

namespace weft::inline v1::schedule::tags {

inline constexpr int largest_edge = 29999;     ///< the largest tag of a boundary message; `play` refuses larger ones
inline constexpr int first_tied = 30000;       ///< gradients and values of tied parameters
inline constexpr int sites_per_group = 16;     ///< the most use sites of one tied parameter
inline constexpr int state = 31900;            ///< parameters and optimizer state, gathered or scattered
inline constexpr int partial_norm = 31901;     ///< post-validation: what a rank passes on to the next
inline constexpr int whole_norm = 31902;       ///< post-validation: what the last rank tells all others
inline constexpr int collective = 32000;       ///< collectives that a rank waits for: one at a time between two ranks
inline constexpr int first_running = 32001;    ///< collectives that run beside others, one tag each
inline constexpr int running = 512;            ///< how many of those
inline constexpr int largest_allowed = 32767;  ///< the least upper bound that MPI lets an implementation set

/// The most tied parameters of one model.
inline constexpr int groups = (state - first_tied) / sites_per_group;

static_assert(largest_edge < first_tied && first_tied + groups * sites_per_group <= state && state < partial_norm &&
              whole_norm < collective && collective < first_running && first_running + running - 1 <= largest_allowed);

}  // namespace weft::inline v1::schedule::tags

namespace weft::inline v1::schedule {

namespace detail {

[[noreturn]] inline void refuse_tie(int group, int site) {
  throw error("weft::schedule::tie_tag: there is no tag for use site " + std::to_string(site) + " of tie group " +
              std::to_string(group) + "; number groups 0 .. " + std::to_string(tags::groups - 1) + " and sites 0 .. " +
              std::to_string(tags::sites_per_group - 1));
}

}  // namespace detail

/// The tag of a boundary message: edge, direction (0 forward, 1 backward) and model copy, nothing else. The order of
/// messages on one edge tells micro-batches apart, so tags stay small.
constexpr int message_tag(int edge, bool forward, int copy, int edge_count) {
  return 2 * (copy * edge_count + edge) + (forward ? 0 : 1);
}

/// The tag of messages about one use site of a tied parameter. Throws `weft::error` where there is none.
constexpr int tie_tag(int group, int site) {
  if (group < 0 || group >= tags::groups || site < 0 || site >= tags::sites_per_group) detail::refuse_tie(group, site);
  return tags::first_tied + group * tags::sites_per_group + site;
}

/// The tag of a collective that runs while others do, by a number on which its ranks agree (a bucket). Between the same
/// two ranks, of numbers that are equal modulo `tags::running` only one may be under way.
constexpr int running_tag(int number) { return tags::first_running + number % tags::running; }

}  // namespace weft::inline v1::schedule
