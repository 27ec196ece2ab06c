// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/standstill.hpp>

#include <chrono>

namespace weft::inline v1::transport {

/// Asks `is_done()` until it says so, letting other ranks run in between; throws `remote_error` as soon as another rank
/// has failed. `on_deadline(seconds waited)`, or without the argument, throws the `error` that says what is waited for,
/// its peer a rank of the outermost endpoint; it is asked once `seconds` have passed here or another rank has given up,
/// and then all ranks tell each other and end (transport/standstill.hpp).
///
/// Call it without the launch lock. A deadline of zero or less means none. `on_turn()` is called in every unsuccessful
/// turn, for whoever has other messages to move meanwhile; it may throw.
/// `progress()`: a number that changes whenever a part of what is waited for is through; the deadline is of each part.
template <class IsDone, class Progress, class OnDeadline, class OnTurn>
void wait_by_parts(endpoint& door, double seconds, IsDone&& is_done, Progress&& progress, OnDeadline&& on_deadline,
                   OnTurn&& on_turn) {
  using clock = std::chrono::steady_clock;
  if (is_done()) return;
  auto since = clock::now();
  auto looked = since;
  auto seen = progress();
  for (unsigned tries = 1;; ++tries) {
    // Rarely: a look at the failure channel costs as much as the test itself, and a few milliseconds are soon enough.
    // Where many share a core, though, a single turn may take milliseconds.
    if (tries % 16U == 0U) {
      auto const now = clock::now();
      if (tries % 1024U == 0U || now - looked > std::chrono::milliseconds(10)) {
        looked = now;
        double const waited = std::chrono::duration<double>(now - since).count();
        check_failure_while_waiting(door, waited, on_deadline);
        if (auto const done = progress(); done != seen) {
          seen = done;
          since = now;
        } else if (seconds > 0.0 && waited > seconds) {
          give_up_waiting(door, waited, on_deadline);
        }
      }
    }
    on_turn();
    door.yield();
    if (is_done()) return;
  }
}

/// The same for what has no parts.
template <class IsDone, class OnDeadline, class OnTurn>
void wait_until(endpoint& door, double seconds, IsDone&& is_done, OnDeadline&& on_deadline, OnTurn&& on_turn) {
  wait_by_parts(
      door, seconds, static_cast<IsDone&&>(is_done), [] { return 0; }, static_cast<OnDeadline&&>(on_deadline),
      static_cast<OnTurn&&>(on_turn));
}

/// The same until the message `posted` is complete.
template <class OnDeadline, class OnTurn>
void wait(endpoint& door, request& posted, double seconds, OnDeadline&& on_deadline, OnTurn&& on_turn) {
  wait_until(
      door, seconds, [&] { return door.test(posted); }, static_cast<OnDeadline&&>(on_deadline),
      static_cast<OnTurn&&>(on_turn));
}

template <class OnDeadline>
void wait(endpoint& door, request& posted, double seconds, OnDeadline&& on_deadline) {
  wait(door, posted, seconds, static_cast<OnDeadline&&>(on_deadline), [] {});
}

}  // namespace weft::inline v1::transport
