// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <chrono>

namespace weft::inline v1::profiling {

/// This rank's clock: `std::chrono::steady_clock`, in seconds.
[[nodiscard]] inline double seconds_of(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(moment.time_since_epoch()).count();
}

/// What to add to this rank's clock to read rank 0's.
struct clock_offset {
  double seconds = 0.0;
  double error = 0.0;       ///< the true offset is within so many seconds of it: half the smallest round trip
  double round_trip = 0.0;  ///< the smallest one, seconds
};

/// Compares clocks with rank 0's, one rank after the other: of `rounds` round trips of 8 bytes the fastest one counts,
/// since whatever delays a message makes its round trip longer (Cristian 1989, Distributed Computing 3). Clocks of
/// several machines drift apart by about 10 us a second: compare close to what is measured. Collective.
inline clock_offset compare_clocks(transport::endpoint& door, double deadline, int rounds = 50) {
  clock_offset best;
  transport::posted_messages posted(door, "comparison of clocks", deadline);
  double mine = 0.0;
  double theirs = 0.0;
  auto const now = [] { return seconds_of(std::chrono::steady_clock::now()); };
  constexpr int tag = schedule::tags::collective;
  for (int rank = 1; rank < door.size(); ++rank) {
    for (int round = 0; round < rounds; ++round) {
      if (door.rank() == 0) {
        posted.receive(&theirs, sizeof theirs, rank, tag);
        posted.settle();
        mine = now();
        posted.send(&mine, sizeof mine, rank, tag);
        posted.settle();
      } else if (door.rank() == rank) {
        posted.receive(&theirs, sizeof theirs, 0, tag);
        mine = now();
        posted.send(&mine, sizeof mine, 0, tag);
        posted.settle();
        double const round_trip = now() - mine;
        if (round == 0 || round_trip < best.round_trip)
          best = {theirs - (mine + 0.5 * round_trip), 0.5 * round_trip, round_trip};
      }
    }
  }
  return best;
}

}  // namespace weft::inline v1::profiling
