// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/wait.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::inline v1::transport {

/// A few posted messages of one named operation; whatever way it ends, none of them outlives this object.
///
/// Keep the buffers alive longer than it. Capacity is kept from one use to the next.
class posted_messages {
 public:
  posted_messages(endpoint& door, char const* what, double deadline) : door_(door), what_(what), deadline_(deadline) {}
  posted_messages(posted_messages const&) = delete;
  posted_messages& operator=(posted_messages const&) = delete;
  ~posted_messages() { static_cast<void>(give_up()); }

  /// Abandons what is under way, after a failure. False where the transport may go on reading what was to be sent: its
  /// owner must then keep that memory for ever.
  bool give_up() noexcept {
    bool is_free = true;
    for (auto& each : posts_) is_free = door_.abandon(each.posted) && is_free;
    posts_.clear();
    return is_free;
  }

  void send(void const* data, std::size_t bytes, int peer, int tag) {
    posts_.push_back({});
    posts_.back() = {door_.send(data, bytes, peer, tag), bytes, peer, false};
  }
  void receive(void* data, std::size_t bytes, int peer, int tag) {
    posts_.push_back({});
    posts_.back() = {door_.receive(data, bytes, peer, tag), bytes, peer, true};
  }

  /// Waits for all of them, in the order of the posts. Throws `error` after the deadline, or where a message has
  /// another size than the receive that it meets. `on_turn()`: see `wait`.
  template <class OnTurn>
  void settle(OnTurn&& on_turn) {
    for (auto& each : posts_) {
      int const rank = door_.global_rank(door_.rank());
      int const peer = door_.global_rank(each.peer);
      auto const overdue = [&](double waited) {
        throw error("weft::transport: " + std::string(what_) + ": rank " + std::to_string(rank) + " waited " +
                        std::to_string(static_cast<long>(waited)) + " s for rank " + std::to_string(peer) + " in " +
                        what_ + "; it is slow, stopped, or does something else",
                    {.rank = rank, .peer = peer});
      };
      wait(door_, each.posted, deadline_, overdue, on_turn);
      if (each.is_receive && door_.received_bytes() != each.bytes)
        throw error("weft::transport: " + std::string(what_) + ": rank " + std::to_string(rank) + " received " +
                        std::to_string(door_.received_bytes()) + " bytes from rank " + std::to_string(peer) +
                        " where " + std::to_string(each.bytes) +
                        " are right; all ranks must call it with the same sizes",
                    {.rank = rank, .peer = peer});
    }
    posts_.clear();
  }
  void settle() {
    settle([] {});
  }

 private:
  struct post {
    request posted;
    std::size_t bytes = 0;
    int peer = -1;
    bool is_receive = false;
  };

  endpoint& door_;
  char const* what_;
  double deadline_;
  std::vector<post> posts_;
};

}  // namespace weft::inline v1::transport
