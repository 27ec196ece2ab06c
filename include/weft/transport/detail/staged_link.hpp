// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/detail/chunk_pool.hpp>
#include <weft/transport/endpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::transport::detail {

/// Stands before the head in a message's first chunk.
struct chunk_header {
  static constexpr std::uint32_t right_magic = 0x57535447;  // "GTSW" in memory

  std::uint32_t magic = right_magic;
  std::uint32_t channels = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t head_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t unused[3] = {};  // the head begins at a cache line
};
static_assert(sizeof(chunk_header) == 64);

/// What a buffer holds beside a chunk: the header and the head, so that chunks are cut where the body's own multiples
/// of a chunk are. Copies between addresses that differ by a few bytes more than a multiple of 4 KiB take twice as long
/// (measured: docs/transports.md), and an MPI's own are copies, too.
inline constexpr std::size_t start_bytes = 1024;

/// Messages of one direction, peer and tag that go chunk by chunk through a ring of slots, each with a host buffer
/// while a chunk is in it. Chunk c of the link's life uses slot c mod depth and channel c mod channels. First in, first
/// out: a message is cut into chunks once the one before is cut, and its chunks are received once those of the one
/// before have been asked for.
///
/// Where both ends have said how long messages may be, all have as many chunks as the longest (some of them empty), so
/// that receives are posted before the first chunk has come; otherwise that one says how many follow.
template <class Copies>
class staged_link {
 public:
  /// One message under way.
  struct transfer {
    staged_link* link = nullptr;
    unsigned char* head = nullptr;
    unsigned char* body = nullptr;
    std::size_t head_bytes = 0;
    std::size_t body_bytes = 0;  ///< of a receive: the room, until its first chunk has come
    std::size_t chunks = 1;      ///< the same
    std::size_t asked = 0;       ///< chunks cut or asked for
    std::size_t done = 0;        ///< chunks that have left, or lie where they belong
    bool is_known = false;       ///< `chunks` is final
    transfer* next = nullptr;

    [[nodiscard]] bool is_done() const { return is_known && done == chunks; }
  };

  staged_link(std::vector<endpoint*> const& channels, Copies& copies, chunk_pool<Copies>& pool, std::size_t chunk_bytes,
              std::size_t depth, bool is_send, int peer, int tag)
      : channels_(channels),
        copies_(copies),
        pool_(pool),
        chunk_bytes_(chunk_bytes),
        is_send_(is_send),
        peer_(peer),
        tag_(tag),
        slots_(depth) {
    pool.grow(depth);
    grow();
  }
  staged_link(staged_link const&) = delete;
  staged_link& operator=(staged_link const&) = delete;
  ~staged_link() { give_up(); }

  /// Of messages to come.
  void expect(std::size_t most_bytes) {
    is_expected_ = true;
    most_bytes_ = (std::max)(most_bytes_, most_bytes);
  }

  /// Puts a message at the end of the queue.
  transfer* post(unsigned char* head, std::size_t head_bytes, unsigned char* body, std::size_t body_bytes) {
    if (is_broken_) fail("an earlier message was given up");
    if (begin_of_body(head_bytes) > start_bytes)
      fail("a head of " + std::to_string(head_bytes) + " bytes came where " +
           std::to_string(start_bytes - sizeof(chunk_header)) + " are the most; put the rest into the body");
    if (free_ == nullptr) grow();
    transfer* const mine = std::exchange(free_, free_->next);
    *mine = {this, head, body, head_bytes, body_bytes};
    mine->is_known = is_send_;
    if (is_expected_)
      mine->chunks = chunks_of((std::max)(most_bytes_, is_send_ ? body_bytes : 0));
    else if (is_send_)
      mine->chunks = chunks_of(body_bytes);
    transfer** end = &first_;
    while (*end != nullptr) end = &(*end)->next;
    *end = mine;
    if (asking_ == nullptr) asking_ = mine;
    return mine;
  }

  [[nodiscard]] bool is_idle() const { return first_ == nullptr; }

  /// Moves what can be moved without waiting.
  void advance() {
    if (first_ == nullptr || is_broken_) return;
    if (is_send_)
      advance_sends();
    else
      advance_receives();
  }

  /// Takes a message that is done, or given up, out of the queue.
  void remove(transfer* message) noexcept {
    for (transfer** each = &first_; *each != nullptr; each = &(*each)->next)
      if (*each == message) {
        *each = message->next;
        break;
      }
    if (asking_ == message) asking_ = message->next;
    message->next = std::exchange(free_, message);
  }

  /// After a failure: no message of this link arrives any more. Buffers that MPI may go on reading are never freed.
  void give_up() noexcept {
    if (is_broken_) return;
    is_broken_ = true;
    for (auto& each : slots_) {
      if (each.buffer == nullptr) continue;
      bool const is_free = channel_of(each).abandon(each.pending);
      if (is_free && is_at_rest(each))
        give_back(each);
      else
        pool_.lose(std::exchange(each.buffer, nullptr));
    }
  }

 private:
  struct slot;

  /// Waits for a buffer's copy. A device whose kernels failed answers no more, and may write later.
  bool is_at_rest(slot const& one) noexcept {
    try {
      while (!copies_.is_done(one.copy)) channels_[0]->yield();
      return true;
    } catch (...) {
      return false;
    }
  }

  struct slot {
    typename Copies::host_buffer* buffer = nullptr;
    request pending;
    std::uint64_t copy = 0;
    std::size_t bytes = 0;  // of the message to be sent
    std::size_t index = 0;  // which of its owner's chunks it holds
    transfer* owner = nullptr;
  };
  struct piece {
    std::size_t begin = 0;  // in the body
    std::size_t bytes = 0;
  };

  /// In the first chunk: at a cache line, as bodies are.
  static constexpr std::size_t begin_of_body(std::size_t head_bytes) {
    return (sizeof(chunk_header) + head_bytes + 63) / 64 * 64;
  }
  [[nodiscard]] std::size_t chunks_of(std::size_t body_bytes) const {
    return body_bytes == 0 ? 1 : (body_bytes + chunk_bytes_ - 1) / chunk_bytes_;
  }
  [[nodiscard]] piece piece_of(transfer const& message, std::size_t index) const {
    std::size_t const begin = (std::min)(index * chunk_bytes_, message.body_bytes);
    return {begin, (std::min)(chunk_bytes_, message.body_bytes - begin)};
  }

  [[nodiscard]] slot& slot_of(std::size_t chunk) { return slots_[chunk % slots_.size()]; }
  [[nodiscard]] endpoint& channel(std::size_t chunk) { return *channels_[chunk % channels_.size()]; }
  /// The depth is a multiple of the channels, so a slot belongs to one channel.
  [[nodiscard]] endpoint& channel_of(slot const& each) { return channel(static_cast<std::size_t>(&each - &slots_[0])); }

  void give_back(slot& done) noexcept { pool_.give_back(std::exchange(done.buffer, nullptr)); }

  /// Chunks done_ .. asked_ - 1 are being sent, and at most one more is being copied: the host is free for the others
  /// while the device fills it.
  void advance_sends() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      while (done_ < asked_ && channel(done_).test(slot_of(done_).pending)) {
        give_back(slot_of(done_));
        ++slot_of(done_).owner->done;
        ++done_;
        has_moved = true;
      }
      if (asked_ < cut_ && copies_.is_done(slot_of(asked_).copy)) {
        slot& next = slot_of(asked_);
        next.pending = channel(asked_).send(next.buffer->data(), next.bytes, peer_, tag_);
        ++asked_;
        has_moved = true;
      }
      if (asked_ == cut_ && cut_ - done_ < slots_.size() && asking_ != nullptr) {
        cut();
        has_moved = true;
      }
    }
  }

  void cut() {
    transfer& message = *asking_;
    slot& next = slot_of(cut_);
    next.buffer = pool_.take();
    unsigned char* target = next.buffer->data();
    piece const part = piece_of(message, message.asked);
    next.bytes = part.bytes;
    if (message.asked == 0) {
      chunk_header const header{chunk_header::right_magic,
                                static_cast<std::uint32_t>(channels_.size()),
                                chunk_bytes_,
                                message.head_bytes,
                                message.body_bytes,
                                message.chunks};
      std::memcpy(target, &header, sizeof(header));
      if (message.head_bytes > 0) std::memcpy(target + sizeof(header), message.head, message.head_bytes);
      target += begin_of_body(message.head_bytes);
      next.bytes += begin_of_body(message.head_bytes);
    }
    next.owner = &message;
    next.copy = part.bytes > 0 ? copies_.to_host(target, message.body + part.begin, part.bytes) : 0;
    ++cut_;
    if (++message.asked == message.chunks) asking_ = message.next;
  }

  /// Chunks come_ .. asked_ - 1 are on their way, chunks done_ .. come_ - 1 are being copied.
  void advance_receives() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      while (done_ < come_ && copies_.is_done(slot_of(done_).copy)) {
        give_back(slot_of(done_));
        ++slot_of(done_).owner->done;
        ++done_;
        has_moved = true;
      }
      ask();
      if (come_ < asked_ && channel(come_).test(slot_of(come_).pending)) {
        slot& next = slot_of(come_);
        std::size_t const bytes = channel(come_).received_bytes();
        if (!next.owner->is_known) read_header(next, bytes);
        ask();  // before the copy, which may take its time
        take(next, bytes);
        ++come_;
        has_moved = true;
      }
    }
  }

  /// Posts receives for as many chunks as there are buffers and known chunks.
  void ask() {
    while (asking_ != nullptr && asked_ - done_ < slots_.size()) {
      transfer& message = *asking_;
      if (message.asked == message.chunks) {
        if (!message.is_known && !is_expected_) return;  // how many chunks follow stands in the first one
        asking_ = message.next;
        continue;
      }
      slot& next = slot_of(asked_);
      next.buffer = pool_.take();
      next.owner = &message;
      next.index = message.asked++;
      next.pending = channel(asked_).receive(next.buffer->data(), chunk_bytes_ + start_bytes, peer_, tag_);
      ++asked_;
    }
  }

  void read_header(slot& first, std::size_t bytes) {
    transfer& message = *first.owner;
    chunk_header header;
    if (bytes >= sizeof(header)) std::memcpy(&header, first.buffer->data(), sizeof(header));
    if (bytes < sizeof(header) || header.magic != chunk_header::right_magic)
      fail("a message came that was not staged; both ends must stage");
    if (header.chunk_bytes != chunk_bytes_ || header.channels != channels_.size())
      fail("it stages by " + std::to_string(header.chunk_bytes) + " bytes on " + std::to_string(header.channels) +
           " channels, and this rank by " + std::to_string(chunk_bytes_) + " on " + std::to_string(channels_.size()) +
           "; both ends must take the same");
    if (header.head_bytes != message.head_bytes || header.body_bytes > message.body_bytes)
      fail("a message of " + std::to_string(header.head_bytes) + " and " + std::to_string(header.body_bytes) +
           " bytes came where " + std::to_string(message.head_bytes) + " and at most " +
           std::to_string(message.body_bytes) + " are right; both ranks must use the same plan and model");
    if (is_expected_ && header.chunks != message.chunks)
      fail("a message of " + std::to_string(header.chunks) + " chunks came where " + std::to_string(message.chunks) +
           " were announced; both ends must call prepare_parts with the same size");
    message.body_bytes = static_cast<std::size_t>(header.body_bytes);
    message.chunks = static_cast<std::size_t>(header.chunks);
    message.is_known = true;
  }

  void take(slot& from, std::size_t bytes) {
    transfer& message = *from.owner;
    piece const part = piece_of(message, from.index);
    unsigned char const* source = from.buffer->data();
    std::size_t const before = from.index == 0 ? begin_of_body(message.head_bytes) : 0;
    if (bytes != before + part.bytes)
      fail("a chunk of " + std::to_string(bytes) + " bytes came where " + std::to_string(before + part.bytes) +
           " are right; both ends must stage alike");
    if (from.index == 0 && message.head_bytes > 0)
      std::memcpy(message.head, source + sizeof(chunk_header), message.head_bytes);
    from.copy = part.bytes > 0 ? copies_.to_device(message.body + part.begin, source + before, part.bytes) : 0;
  }

  void grow() {
    auto const count = owned_.empty() ? std::size_t{4} : owned_.size();
    for (std::size_t index = 0; index < count; ++index) {
      owned_.push_back(std::make_unique<transfer>());
      owned_.back()->next = std::exchange(free_, owned_.back().get());
    }
  }

  [[noreturn]] void fail(std::string const& what) const {
    int const rank = channels_[0]->global_rank(channels_[0]->rank());
    int const peer = channels_[0]->global_rank(peer_);
    throw error("weft::transport::staged: rank " + std::to_string(rank) + (is_send_ ? " to" : " from") + " rank " +
                    std::to_string(peer) + ", tag " + std::to_string(tag_) + ": " + what,
                {.rank = rank, .peer = peer, .tag = tag_});
  }

  std::vector<endpoint*> const& channels_;
  Copies& copies_;
  chunk_pool<Copies>& pool_;
  std::size_t chunk_bytes_;
  bool is_send_;
  int peer_;
  int tag_;
  std::vector<slot> slots_;
  std::vector<std::unique_ptr<transfer>> owned_;
  transfer* free_ = nullptr;
  transfer* first_ = nullptr;   // the queue
  transfer* asking_ = nullptr;  // the one whose next chunk is cut or asked for next
  std::size_t done_ = 0;        // chunks, counted from the link's first one
  std::size_t come_ = 0;
  std::size_t asked_ = 0;
  std::size_t cut_ = 0;
  std::size_t most_bytes_ = 0;
  bool is_expected_ = false;
  bool is_broken_ = false;
};

}  // namespace weft::inline v1::transport::detail
