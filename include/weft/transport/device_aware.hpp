// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/chosen_ranks.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/relay.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// Bodies handed to the other door, and so to MPI, where they are: for an MPI that reads and writes device memory, and
/// for host memory, which every MPI does. A message is two: the head, then the body, both under the tag it was given.
/// Costs one small message more than one in a piece, and no memory. Messages with other ranks than `peers` are the
/// other door's, in parts or not.
///
/// Ask transport/device_support.hpp first: an MPI that does not, ends the process. The other door must outlive it.
class device_aware final : public relay {
 public:
  /// `memory`: what Kokkos calls the memory of the bodies. `peers`: between which and this rank.
  device_aware(endpoint& inner, std::string_view memory, chosen_ranks peers = chosen_ranks::all())
      : relay(inner),
        memory_(memory),
        peers_(std::move(peers)),
        is_host_(memory_ == "Host") {
    for (int peer = 0; peer < inner.size() && !is_host_ && moves_any(); ++peer)
      if (inner.carries(peer, memory) == carrier::library)
        throw error("weft::transport::device_aware: rank " + std::to_string(inner.global_rank(inner.rank())) +
                        ": bodies to rank " + std::to_string(inner.global_rank(peer)) +
                        " go by a vendor's library already, and MPI with device memory must not be in flight beside "
                        "it; give one of them, or transport::staged",
                    {.rank = inner.global_rank(inner.rank()), .peer = inner.global_rank(peer)});
    grow(16);
  }
  ~device_aware() override = default;

  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return peers_.contains(peer) ? memory == memory_ : inner().moves_parts(peer, memory);
  }
  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    if (!peers_.contains(peer) || memory != memory_) return inner().carries(peer, memory);
    return is_host_ ? carrier::host : carrier::mpi;
  }
  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    if (!peers_.contains(peer)) return inner().prepare_parts(is_send, most_bytes, peer, tag);
    grow(1);
  }

  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    if (!peers_.contains(peer)) return inner().send_parts(parts, peer, tag);
    pair& mine = take(parts.head_bytes);
    return posted(mine, true, [&] {
      if (parts.head_bytes > 0) mine.head = inner().send(parts.head, parts.head_bytes, peer, tag);
      mine.body = inner().send(parts.body, parts.body_bytes, peer, tag);
    });
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    if (!peers_.contains(peer)) return inner().receive_parts(parts, peer, tag);
    pair& mine = take(parts.head_bytes);
    return posted(mine, false, [&] {
      if (parts.head_bytes > 0) mine.head = inner().receive(parts.head, parts.head_bytes, peer, tag);
      mine.body = inner().receive(parts.body, parts.body_bytes, peer, tag);
    });
  }

  [[nodiscard]] bool test(request& posted) override {
    if (posted.of != this) {
      if (!inner().test(posted)) return false;
      received_ = inner().received_bytes();
      return true;
    }
    auto* const mine = reinterpret_cast<pair*>(posted.handle);
    if (mine->head.pending) {
      if (!inner().test(mine->head)) return false;
      if (!posted.is_send && inner().received_bytes() != mine->head_bytes)
        throw error("weft::transport::device_aware: rank " + std::to_string(inner().global_rank(inner().rank())) +
                        ": a head of " + std::to_string(inner().received_bytes()) + " bytes came where " +
                        std::to_string(mine->head_bytes) +
                        " are right; both ends must hand bodies over in the same way",
                    {.rank = inner().global_rank(inner().rank())});
    }
    if (!inner().test(mine->body)) return false;
    if (!posted.is_send) received_ = mine->head_bytes + inner().received_bytes();
    give_back(mine, posted);
    return true;
  }

  [[nodiscard]] std::size_t received_bytes() const override { return received_; }

  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (posted.of != this) return inner().abandon(posted);
    auto* const mine = reinterpret_cast<pair*>(posted.handle);
    bool const head_is_free = inner().abandon(mine->head);
    bool const body_is_free = inner().abandon(mine->body);
    give_back(mine, posted);
    return head_is_free && body_is_free;
  }

 private:
  struct pair {
    request head;
    request body;
    std::size_t head_bytes = 0;
    pair* next = nullptr;
  };

  void grow(int count) {
    for (int index = 0; index < count; ++index) {
      owned_.push_back(std::make_unique<pair>());
      owned_.back()->next = std::exchange(free_, owned_.back().get());
    }
  }
  pair& take(std::size_t head_bytes) {
    if (free_ == nullptr) grow(16);
    pair* const mine = std::exchange(free_, free_->next);
    *mine = {};
    mine->head_bytes = head_bytes;
    return *mine;
  }
  /// Where the body's post fails, nobody else knows of the head's.
  template <class Post>
  request posted(pair& mine, bool is_send, Post&& post) {
    request made{reinterpret_cast<std::uintptr_t>(&mine), true, is_send};
    made.is_in_parts = true;
    made.of = this;
    try {
      post();
    } catch (...) {
      static_cast<void>(inner().abandon(mine.head));
      give_back(&mine, made);
      throw;
    }
    return made;
  }
  [[nodiscard]] bool moves_any() const {
    for (int peer = 0; peer < inner().size(); ++peer)
      if (peers_.contains(peer)) return true;
    return false;
  }
  void give_back(pair* mine, request& posted) noexcept {
    mine->next = std::exchange(free_, mine);
    posted = {};
  }

  std::string memory_;
  chosen_ranks peers_;
  bool is_host_;  // as Kokkos calls it
  std::vector<std::unique_ptr<pair>> owned_;
  pair* free_ = nullptr;
  std::size_t received_ = 0;
};

}  // namespace weft::inline v1::transport
