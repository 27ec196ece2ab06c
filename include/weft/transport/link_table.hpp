// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/wait.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// One of several ways to move bodies between two ranks.
struct way {
  std::string name;
  endpoint* door = nullptr;
};

namespace detail {
/// Two times are alike up to this ratio: no measurement of a busy machine is finer.
inline constexpr double as_good = 1.05;
}  // namespace detail

/// How long bodies take from one rank to another, by each of several ways: measured points, and between two of them the
/// line latency + bytes / bandwidth that joins them. Both ranks of a pair hold the same numbers.
class link_table {
 public:
  struct point {
    std::size_t bytes = 0;
    double seconds = 0.0;
  };

  void add(int peer, int way, point const& measured) { points_[{peer, way}].push_back(measured); }

  [[nodiscard]] bool knows(int peer, int way) const { return points_.count({peer, way}) > 0; }

  /// Of a body from one rank to the other. Beyond the measured sizes the outermost line goes on, but never below the
  /// outermost point (noise may have it fall).
  [[nodiscard]] double seconds(int peer, int way, std::size_t bytes) const {
    auto const& all = points_.at({peer, way});
    if (all.size() == 1 || bytes <= all.front().bytes) return all.front().seconds;
    std::size_t upper = 1;
    while (upper + 1 < all.size() && all[upper].bytes < bytes) ++upper;
    point const& low = all[upper - 1];
    point const& high = all[upper];
    double const slope = (high.seconds - low.seconds) / static_cast<double>(high.bytes - low.bytes);
    double const line = low.seconds + slope * (static_cast<double>(bytes) - static_cast<double>(low.bytes));
    return bytes > high.bytes ? (std::max)(line, high.seconds) : line;
  }

  /// The first of those that were measured and take 5 % more than the quickest at most: so list what costs least
  /// beside time first. -1 where none was.
  [[nodiscard]] int best(int peer, int ways, std::size_t bytes) const {
    double quickest = std::numeric_limits<double>::infinity();
    for (int each = 0; each < ways; ++each)
      if (knows(peer, each)) quickest = (std::min)(quickest, seconds(peer, each, bytes));
    for (int each = 0; each < ways; ++each)
      if (knows(peer, each) && seconds(peer, each, bytes) <= detail::as_good * quickest) return each;
    return -1;
  }

  [[nodiscard]] std::vector<point> const& points(int peer, int way) const { return points_.at({peer, way}); }

 private:
  std::map<std::pair<int, int>, std::vector<point>> points_;  // by (peer, way), ascending in bytes
};

struct link_measurement {
  /// Of ranks; empty: every rank and the next, and the last and the first.
  std::vector<std::pair<int, int>> pairs = {};
  int repetitions = 9;  ///< of a message there and back, in one round
  int rounds = 6;       ///< at most, where others on the machine disturb the first ones
  double deadline = default_deadline;
};

namespace detail {

/// Seconds of each of `ways`, half of a round trip; both ranks take part, the first one's clock counts. In turns, so
/// that what others do on the machine meets all ways alike.
class link_times {
 public:
  link_times(std::vector<endpoint*> ways, int peer, bool is_first, void* body, std::size_t bytes,
             link_measurement const& how)
      : ways_(std::move(ways)),
        peer_(peer),
        is_first_(is_first),
        body_(body),
        bytes_(bytes),
        how_(how),
        times_(ways_.size()) {}

  void measure() {
    using clock = std::chrono::steady_clock;
    for (int turn = -2; turn < how_.repetitions; ++turn)  // two to warm up
      for (std::size_t each = 0; each < ways_.size(); ++each) {
        auto const begin = clock::now();
        move(*ways_[each], is_first_);
        move(*ways_[each], !is_first_);
        if (turn >= 0) times_[each].push_back(std::chrono::duration<double>(clock::now() - begin).count() / 2.0);
      }
    for (auto& each : times_) std::sort(each.begin(), each.end());
  }

  /// Whether a quarter of each way's times are as good as its best one. A way that even at its best is slower than
  /// another one does not count.
  [[nodiscard]] bool is_quiet() const {
    auto const quartiles = seconds();
    double const quickest = quartiles.empty() ? 0.0 : *std::min_element(quartiles.begin(), quartiles.end());
    for (std::size_t each = 0; each < times_.size(); ++each)
      if (!times_[each].empty() && times_[each].front() <= as_good * quickest &&
          quartiles[each] > as_good * times_[each].front())
        return false;
    return true;
  }

  /// The lower quartile of each way's times: what others do on the machine only adds.
  [[nodiscard]] std::vector<double> seconds() const {
    std::vector<double> found;
    for (auto const& each : times_) found.push_back(each.empty() ? 0.0 : each[each.size() / 4]);
    return found;
  }

 private:
  void move(endpoint& door, bool sends) const {
    request posted = sends ? door.send_parts({nullptr, 0, body_, bytes_}, peer_, schedule::tags::state)
                           : door.receive_parts({nullptr, 0, body_, bytes_}, peer_, schedule::tags::state);
    auto const overdue = [&](double) {
      throw error("weft::transport::measure_links: rank " + std::to_string(door.global_rank(door.rank())) +
                      " waited for rank " + std::to_string(door.global_rank(peer_)) +
                      " while links were measured; all ranks must measure the same pairs",
                  {.rank = door.global_rank(door.rank()), .peer = door.global_rank(peer_)});
    };
    try {
      wait(door, posted, how_.deadline, overdue);
    } catch (...) {
      static_cast<void>(door.abandon(posted));
      throw;
    }
  }

  std::vector<endpoint*> ways_;
  int peer_;
  bool is_first_;
  void* body_;
  std::size_t bytes_;
  link_measurement const& how_;
  std::vector<std::vector<double>> times_;  // of each way, ascending
};

/// Rounds until it was quiet, or there were enough; both ranks get the first one's numbers.
inline std::vector<double> settled_times(link_times& times, std::size_t ways, endpoint& door, int peer, bool is_first,
                                         link_measurement const& how) {
  std::vector<double> told(ways + 1);  // the last: whether there is another round
  posted_messages messages(door, "the measuring of links", how.deadline);
  for (int round = 1;; ++round) {
    times.measure();
    if (is_first) {
      told = times.seconds();
      told.push_back(round < how.rounds && !times.is_quiet() ? 1.0 : 0.0);
      messages.send(told.data(), told.size() * sizeof(double), peer, schedule::tags::state);
    } else {
      messages.receive(told.data(), told.size() * sizeof(double), peer, schedule::tags::state);
    }
    messages.settle();
    if (told.back() == 0.0) break;
  }
  told.pop_back();
  return told;
}

}  // namespace detail

/// Measures all ways that both ranks of a pair have for bodies in `memory`, one pair after the other, by messages there
/// and back of 4 KiB and four, sixteen, ... times as much, up to `bytes`, which `body` has room for. The lower rank's
/// clock counts, and the other rank is told. Collective over the ranks of `door`; every rank names the same ways in the
/// same order. Some milliseconds a pair with 16 MiB; a few times as long on a busy machine, which is measured again
/// until a quarter of the times agree. Throws `error` for less than one repetition, and for a pair of one rank.
inline link_table measure_links(endpoint& door, std::vector<way> const& ways, std::string_view memory, void* body,
                                std::size_t bytes, link_measurement const& how = {}) {
  auto const refuse = [&](std::string const& what) {
    throw error("weft::transport::measure_links: " + what, {.rank = door.global_rank(door.rank())});
  };
  if (how.repetitions < 1) refuse(std::to_string(how.repetitions) + " repetitions measure nothing; ask for at least 1");
  std::set<std::pair<int, int>> pairs;
  for (auto const& [one, other] : how.pairs) {
    if (one == other) refuse("rank " + std::to_string(one) + " has no link to itself; name pairs of two ranks");
    pairs.insert({(std::min)(one, other), (std::max)(one, other)});
  }
  if (pairs.empty()) {
    for (int each = 0; each + 1 < door.size(); ++each) pairs.insert({each, each + 1});
    if (door.size() > 2) pairs.insert({0, door.size() - 1});
  }
  link_table table;
  for (auto const& [one, other] : pairs) {
    bool const is_first = door.rank() == one;
    if (door.rank() == one || door.rank() == other) {
      int const peer = door.rank() == one ? other : one;
      std::vector<char> own;
      std::vector<char> theirs(ways.size());
      for (auto const& each : ways) own.push_back(each.door->moves_parts(peer, memory) ? 1 : 0);
      posted_messages messages(door, "the measuring of links", how.deadline);
      messages.receive(theirs.data(), theirs.size(), peer, schedule::tags::state);
      messages.send(own.data(), own.size(), peer, schedule::tags::state);
      messages.settle();
      std::vector<endpoint*> common;  // what only one end has is no way
      std::vector<int> indices;
      for (std::size_t each = 0; each < ways.size(); ++each)
        if (own[each] != 0 && theirs[each] != 0) {
          common.push_back(ways[each].door);
          indices.push_back(static_cast<int>(each));
        }
      for (std::size_t size = 4096; !common.empty(); size *= 4) {
        std::size_t const measured = (std::min)(size, bytes);
        detail::link_times times(common, peer, is_first, body, measured, how);
        auto const seconds = detail::settled_times(times, common.size(), door, peer, is_first, how);
        for (std::size_t each = 0; each < common.size(); ++each)
          table.add(peer, indices[each], {measured, seconds[each]});
        if (size >= bytes) break;
      }
    }
    char nothing = 0;  // nobody measures while others do
    std::vector<char> all(static_cast<std::size_t>(door.size()));
    all_gather(door, &nothing, 1, all.data(), how.deadline);
  }
  return table;
}

}  // namespace weft::inline v1::transport
