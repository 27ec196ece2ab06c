// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/link_table.hpp>
#include <weft/transport/relay.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// Chooses, for each direction, peer and tag, the quickest of several ways to move bodies, by a table that was measured
/// at the start and the most bytes that such a body may have: both ends know that number, and hold the same table, so
/// they choose alike without a word. A table may be used for many of these.
///
/// Costs a test of each other way's messages in every test. The doors must outlive it, all be built on `inner`, and
/// stay in use by this one alone.
class automatic final : public relay {
 public:
  automatic(endpoint& inner, std::string_view memory, std::vector<way> ways, link_table table)
      : relay(inner),
        memory_(memory),
        ways_(std::move(ways)),
        table_(std::move(table)) {
    if (ways_.empty() || ways_.size() > 255)
      fail("it was given " + std::to_string(ways_.size()) + " ways to choose from; give 1 to 255", -1, -1);
    for (auto const what : {carrier::library, carrier::mpi}) {
      bool is_there = false;
      for (auto const& each : ways_)
        for (int peer = 0; peer < inner.size(); ++peer) is_there = is_there || each.door->carries(peer, memory) == what;
      if (!is_there) break;
      if (what == carrier::mpi)
        fail(
            "one way is a vendor's library and another one MPI with device memory, which must not be in flight "
            "together; choose among one of them and transport::staged",
            -1, -1);
    }
  }

  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return memory == memory_ && table_.best(peer, static_cast<int>(ways_.size()), 0) >= 0;
  }

  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    carrier most = carrier::none;
    for (auto const& each : ways_) most = (std::max)(most, each.door->carries(peer, memory));
    return most;
  }
  [[nodiscard]] bool keeps_issue_order() const override {
    bool keeps = inner().keeps_issue_order();
    for (auto const& each : ways_) keeps = keeps || each.door->keeps_issue_order();
    return keeps;
  }
  void require_program(schedule::program_view const& program) const override {
    inner().require_program(program);
    for (auto const& each : ways_) each.door->require_program(program);
  }
  void begin_posts() override {
    for (auto const& each : ways_) each.door->begin_posts();
  }
  void end_posts() override {
    for (auto const& each : ways_) each.door->end_posts();
  }

  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    int const best = table_.best(peer, static_cast<int>(ways_.size()), most_bytes);
    if (best < 0)
      fail("no way between rank " + std::to_string(inner().global_rank(peer)) +
               " and this one was measured; name the pair in link_measurement::pairs",
           peer, tag);
    chosen_[{peer, tag, is_send}] = best;
    door_of(best).prepare_parts(is_send, most_bytes, peer, tag);
  }

  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    int const chosen = chosen_for(true, peer, tag);
    return by(chosen, door_of(chosen).send_parts(parts, peer, tag));
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    int const chosen = chosen_for(false, peer, tag);
    return by(chosen, door_of(chosen).receive_parts(parts, peer, tag));
  }

  [[nodiscard]] bool test(request& posted) override {
    bool const is_mine = posted.is_in_parts && posted.pending;
    int const chosen = is_mine ? posted.way : -1;
    endpoint& door = is_mine ? door_of(chosen) : inner();
    if (door.test(posted)) {
      received_ = door.received_bytes();
      return true;
    }
    for (int each = 0; each < static_cast<int>(ways_.size()); ++each) {
      request nothing;
      if (each != chosen) static_cast<void>(door_of(each).test(nothing));
    }
    return false;
  }

  [[nodiscard]] std::size_t received_bytes() const override { return received_; }

  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (!posted.is_in_parts || !posted.pending) return inner().abandon(posted);
    return door_of(posted.way).abandon(posted);
  }

  /// By which way bodies of at most so many bytes go between this rank and `peer`; empty where by none.
  [[nodiscard]] std::string choice(int peer, std::size_t most_bytes) const {
    int const best = table_.best(peer, static_cast<int>(ways_.size()), most_bytes);
    return best < 0 ? std::string() : ways_[static_cast<std::size_t>(best)].name;
  }

 private:
  [[nodiscard]] endpoint& door_of(int index) const { return *ways_[static_cast<std::size_t>(index)].door; }

  [[nodiscard]] int chosen_for(bool is_send, int peer, int tag) const {
    auto const found = chosen_.find({peer, tag, is_send});
    if (found == chosen_.end())
      fail("nobody said how large the messages of rank " + std::to_string(inner().global_rank(peer)) + " and tag " +
               std::to_string(tag) + " may be; call prepare_parts first, at both ends",
           peer, tag);
    return found->second;
  }

  static request by(int chosen, request made) {
    made.way = static_cast<std::uint8_t>(chosen);
    return made;
  }

  [[noreturn]] void fail(std::string const& what, int peer, int tag) const {
    int const own = inner().global_rank(inner().rank());
    throw error("weft::transport::automatic: rank " + std::to_string(own) + ": " + what,
                {.rank = own, .peer = peer, .tag = tag});
  }

  std::string memory_;
  std::vector<way> ways_;
  link_table table_;
  std::map<std::tuple<int, int, bool>, int> chosen_;
  std::size_t received_ = 0;
};

}  // namespace weft::inline v1::transport
