// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/extern_transport.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

/// @file
/// What happens when a wait's deadline passes. The first rank that gives up tells all others; each of them, at its next
/// look at the failure channel, answers what it is waiting for itself; and every rank ends with the same story: who
/// waits for whom, and which rank holds up the others. One that does not answer in time (stopped, gone, or in a pass
/// that never calls `context.progress()`) is that rank.

namespace weft::inline v1::transport {

inline constexpr double answer_seconds = 2.0;  ///< how long ranks wait for each other's answers

/// "rank 0 waits for rank 1, that for rank 2".
WEFT_TRANSPORT_INLINE std::string tell_chain(std::vector<int> const& ranks);

/// The sentence that names the culprit, as seen from rank `self`: follows who waits for whom until somebody waits for
/// nobody, has not answered, or was met before. Empty where nothing is known of `self`.
WEFT_TRANSPORT_INLINE std::string name_culprit(std::vector<whereabouts> const& all, int self);

/// What a rank says of itself, and below it what each rank has said.
WEFT_TRANSPORT_INLINE std::string tell_standstill(std::vector<whereabouts> const& all, int self,
                                                  std::string const& own);

/// Ends this rank's part of a standstill: exchanges answers with all ranks, for `answer_seconds` at most, and throws.
/// The rank with the lowest number among those that answer throws `error`, the others `remote_error`, all with the
/// whole story. Collective in that every rank that is alive comes here once one rank does.
[[noreturn]] WEFT_TRANSPORT_INLINE void join_standstill(endpoint& door, std::string const& own,
                                                        error_location const& where);

/// Calls what throws when a deadline has passed (with the seconds waited, where it takes them) and joins a standstill
/// with its words. Whatever else it throws goes on.
template <class OnDeadline>
[[noreturn]] void give_up_waiting(endpoint& door, double waited, OnDeadline&& on_deadline) {
  try {
    if constexpr (std::is_invocable_v<OnDeadline&, double>)
      on_deadline(waited);
    else
      on_deadline();
  } catch (error const& own) {
    join_standstill(door, own.what(), own.location());
  }
  throw error("weft::transport::wait: a deadline passed, and on_deadline() returned; it must throw");
}

/// A look at the failure channel from inside a wait: throws `remote_error` where another rank has failed, and joins the
/// standstill where one has given up waiting.
template <class OnDeadline>
void check_failure_while_waiting(endpoint& door, double waited, OnDeadline&& on_deadline) {
  try {
    door.check_failure();
  } catch (standstill const&) {
    give_up_waiting(door, waited, on_deadline);
  }
}

#if defined(WEFT_DEFINES_TRANSPORT)

WEFT_TRANSPORT_INLINE std::string tell_chain(std::vector<int> const& ranks) {
  std::string text;
  for (std::size_t index = 0; index + 1 < ranks.size(); ++index)
    text += index == 0 ? "rank " + std::to_string(ranks[0]) + " waits for rank " + std::to_string(ranks[1])
                       : ", that for rank " + std::to_string(ranks[index + 1]);
  return text;
}

WEFT_TRANSPORT_INLINE std::string name_culprit(std::vector<whereabouts> const& all, int self) {
  auto const is_rank = [&](int rank) { return rank >= 0 && rank < static_cast<int>(all.size()); };
  auto const at = [&](int rank) -> whereabouts const& { return all[static_cast<std::size_t>(rank)]; };
  if (!is_rank(self) || !at(self).is_known) return {};
  std::vector<int> chain{self};
  for (;;) {
    whereabouts const& last = at(chain.back());
    if (!last.is_known || !is_rank(last.waits_for)) break;
    auto const met = std::find(chain.begin(), chain.end(), last.waits_for);
    if (met != chain.end()) {
      std::vector<int> circle(met, chain.end());
      circle.push_back(last.waits_for);
      return tell_chain(circle) + ": nobody can go on, so these ranks play different programs";
    }
    chain.push_back(last.waits_for);
  }
  int const culprit = chain.back();
  if (chain.size() == 1) return {};
  return tell_chain(chain) + "; rank " + std::to_string(culprit) + " holds up the others: " +
         (at(culprit).is_known
              ? at(culprit).text
              : "it does not answer, so it is stopped, has ended, or is in a long pass that never calls "
                "context.progress()");
}

WEFT_TRANSPORT_INLINE std::string tell_standstill(std::vector<whereabouts> const& all, int self,
                                                  std::string const& own) {
  std::string text = own;
  if (std::string const culprit = name_culprit(all, self); !culprit.empty()) text += "; " + culprit;
  constexpr std::size_t most = 16;
  for (std::size_t rank = 0; rank < all.size() && rank < most; ++rank)
    text += "\n  " + (all[rank].is_known ? all[rank].text : "rank " + std::to_string(rank) + " does not answer");
  if (all.size() > most) text += "\n  and " + std::to_string(all.size() - most) + " ranks more";
  return text;
}

WEFT_TRANSPORT_INLINE void join_standstill(endpoint& door, std::string const& own, error_location const& where) {
  int const self = door.global_rank(door.rank());
  std::string const short_own = own.substr(0, own.find("; "));
  std::size_t const words = short_own.find("rank ");
  whereabouts const mine{true, where.peer, words == std::string::npos ? short_own : short_own.substr(words)};
  std::vector<whereabouts> const all = door.exchange_whereabouts(mine, answer_seconds);
  std::string const text = tell_standstill(all, self, own);
  auto const first = std::find_if(all.begin(), all.end(), [](auto const& each) { return each.is_known; });
  if (first == all.end() || first - all.begin() == self) throw error(text, where);
  throw remote_error(text, where);
}

#endif

}  // namespace weft::inline v1::transport
