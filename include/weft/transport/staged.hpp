// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/chosen_ranks.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/detail/chunk_pool.hpp>
#include <weft/transport/detail/staged_link.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/relay.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

struct staged_options {
  chosen_ranks peers = chosen_ranks::all();  ///< between which and this rank messages are staged
  std::vector<endpoint*> channels = {};      ///< more doors between the same ranks, each with a communicator of its own
  int buffers_per_channel = 2;               ///< of a chunk each, for every direction, peer and tag
  std::size_t chunk_bytes = 0;               ///< where the number comes at run time; 0: ChunkBytes
};

/// Boundary messages between memories that neither the host nor MPI may read, by way of the host, in chunks:
///
///     device     copy 0 | copy 1 | copy 2 | copy 3
///     network             send 0 | send 1 | send 2 | send 3
///     device                       copy 0 | copy 1 | copy 2 | copy 3
///
/// T = bytes / min(copy, network) + a chunk's time at each of the others. Works between any two devices, vendors and
/// MPIs, and on the host. Costs 2 * buffers_per_channel * channels * (ChunkBytes + 1 KiB) of pinned memory per edge,
/// and a copy more than a transport that reads the device itself (transport/device_aware.hpp).
///
/// A door around another one: messages in parts with `peers` are staged, everything else is the other's. Moves in
/// `test` of any message, waits for nothing, and allocates in `prepare_parts` alone (or at the first post, where that
/// was not called). With several channels, chunk c goes over channel c mod channels: MPIs map communicators to ports of
/// the network. Messages of one direction, peer and tag keep their order. Both ends must take the same ChunkBytes and
/// channels.
///
/// The other doors must outlive it; `abandon` of one message gives up all of its direction, peer and tag.
template <std::size_t ChunkBytes = std::size_t{1} << 19, memory_copies Copies = kokkos_copies<>>
class staged final : public relay {
 public:
  static_assert(ChunkBytes >= 1024 && ChunkBytes % 64 == 0,
                "weft::transport::staged: chunks have 1,024 bytes or more, and a multiple of 64");
  static constexpr std::size_t chunk_bytes = ChunkBytes;

  explicit staged(endpoint& inner, Copies copies = Copies(), staged_options options = {})
      : relay(inner),
        peers_(std::move(options.peers)),
        buffers_per_channel_(options.buffers_per_channel),
        chunk_bytes_(options.chunk_bytes == 0 ? ChunkBytes : options.chunk_bytes),
        copies_(std::move(copies)) {
    require(chunk_bytes_ >= 1024 && chunk_bytes_ % 64 == 0, "chunks of " + std::to_string(chunk_bytes_) + " bytes",
            "give 1,024 or more, and a multiple of 64");
    channels_.push_back(&inner);
    for (endpoint* const each : options.channels) channels_.push_back(each);
    for (endpoint const* const each : channels_)
      require(each->rank() == inner.rank() && each->size() == inner.size(),
              "a channel is a door of rank " + std::to_string(each->rank()) + " of " + std::to_string(each->size()),
              "make channels among the same ranks");
    require(buffers_per_channel_ >= 1, std::to_string(buffers_per_channel_) + " buffers per channel", "give 2 or more");
    for (int const peer : peers_.among(inner.size()))
      require(peer >= 0 && peer < inner.size(), "there is no rank " + std::to_string(peer), "check the peers");
  }

  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return peers_.contains(peer) ? memory == copies_.memory() : inner().moves_parts(peer, memory);
  }

  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    return peers_.contains(peer) && memory == copies_.memory() ? carrier::host : inner().carries(peer, memory);
  }

  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    if (!stages(peer)) return inner().prepare_parts(is_send, most_bytes, peer, tag);
    link_of(is_send, peer, tag).expect(most_bytes);
  }

  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    if (!stages(peer)) return inner().send_parts(parts, peer, tag);
    // sends only read through these pointers
    return post(true,
                {const_cast<void*>(parts.head), parts.head_bytes, const_cast<void*>(parts.body), parts.body_bytes},
                peer, tag);
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    if (!stages(peer)) return inner().receive_parts(parts, peer, tag);
    return post(false, parts, peer, tag);
  }

  [[nodiscard]] bool test(request& posted) override {
    if (posted.of != this) {
      for (auto& each : links_) each.second->advance();
      was_staged_ = false;
      return inner().test(posted);
    }
    auto* const message = reinterpret_cast<transfer*>(posted.handle);
    message->link->advance();
    if (!message->is_done()) {
      for (auto& each : links_)
        if (each.second.get() != message->link) each.second->advance();
      if (!message->is_done()) return false;
    }
    if (!posted.is_send) {
      was_staged_ = true;
      received_ = message->head_bytes + message->body_bytes;
    }
    message->link->remove(message);
    posted = {};
    return true;
  }

  [[nodiscard]] std::size_t received_bytes() const override {
    return was_staged_ ? received_ : inner().received_bytes();
  }

  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (posted.of != this) return inner().abandon(posted);
    auto* const message = reinterpret_cast<transfer*>(posted.handle);
    message->link->give_up();
    message->link->remove(message);
    posted = {};
    return true;  // MPI knows nothing of the body
  }

  [[nodiscard]] int channels() const { return static_cast<int>(channels_.size()); }

  /// Bytes of all chunk buffers so far.
  [[nodiscard]] std::size_t buffer_bytes() const { return pool_.bytes(); }

 private:
  using link = detail::staged_link<Copies>;
  using transfer = typename link::transfer;
  using key = std::tuple<int, int, bool>;

  [[nodiscard]] std::size_t depth() const { return channels_.size() * static_cast<std::size_t>(buffers_per_channel_); }

  void require(bool holds, std::string const& problem, char const* remedy) const {
    int const own = inner().global_rank(inner().rank());
    if (!holds)
      throw error("weft::transport::staged: rank " + std::to_string(own) + ": " + problem + "; " + remedy,
                  {.rank = own});
  }

  /// Ranks that do not exist are refused in the words of this door.
  [[nodiscard]] bool stages(int peer) const { return peers_.contains(peer) || peer < 0 || peer >= inner().size(); }

  link& link_of(bool is_send, int peer, int tag) {
    require(peer >= 0 && peer < inner().size(), "there is no rank " + std::to_string(peer), "check the placement");
    auto& found = links_[key{peer, tag, is_send}];
    if (!found) found = std::make_unique<link>(channels_, copies_, pool_, chunk_bytes_, depth(), is_send, peer, tag);
    return *found;
  }

  request post(bool is_send, incoming_parts const& parts, int peer, int tag) {
    link& mine = link_of(is_send, peer, tag);
    transfer* const message = mine.post(static_cast<unsigned char*>(parts.head), parts.head_bytes,
                                        static_cast<unsigned char*>(parts.body), parts.body_bytes);
    mine.advance();
    request made{reinterpret_cast<std::uintptr_t>(message), true, is_send};
    made.is_in_parts = true;
    made.of = this;
    return made;
  }

  chosen_ranks peers_;
  int buffers_per_channel_;
  std::size_t chunk_bytes_;
  Copies copies_;
  detail::chunk_pool<Copies> pool_{copies_, chunk_bytes_ + detail::start_bytes};
  std::vector<endpoint*> channels_;
  std::map<key, std::unique_ptr<link>> links_;
  std::size_t received_ = 0;
  bool was_staged_ = false;
};

}  // namespace weft::inline v1::transport
