// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>
#include <weft/transport/wait.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::inline v1::transport {

namespace detail {

/// A posted send or receive. Recycled, so that a steady state allocates nothing.
struct mailbox_post {
  std::byte* data = nullptr;
  std::size_t bytes = 0;     // of the buffer
  std::size_t received = 0;  // of the message, on the receiving side
  int peer = 0;
  int tag = 0;
  bool is_send = false;
  std::atomic<bool> done{false};
  mailbox_post* next = nullptr;
};

/// All posts of one directed pair of ranks, in the order in which they were posted.
struct mailbox {
  std::mutex mutex;
  mailbox_post* sends = nullptr;
  mailbox_post* receives = nullptr;

  static void append(mailbox_post*& list, mailbox_post* post) {
    mailbox_post** end = &list;
    while (*end != nullptr) end = &(*end)->next;
    *end = post;
  }
  static void remove(mailbox_post*& list, mailbox_post const* post) {
    for (mailbox_post** each = &list; *each != nullptr; each = &(*each)->next)
      if (*each == post) {
        *each = post->next;
        return;
      }
  }

  /// Moves every message whose send and receive have both been posted. The mutex is held.
  void match() {
    for (mailbox_post* send = sends; send != nullptr;) {
      mailbox_post* const next = send->next;
      mailbox_post* receive = receives;
      while (receive != nullptr && receive->tag != send->tag) receive = receive->next;
      if (receive != nullptr) {
        receive->received = send->bytes;
        std::size_t const fits = send->bytes < receive->bytes ? send->bytes : receive->bytes;
        if (fits > 0) std::memcpy(receive->data, send->data, fits);
        remove(sends, send);
        remove(receives, receive);
        receive->done.store(true, std::memory_order_release);
        send->done.store(true, std::memory_order_release);
      }
      send = next;
    }
  }
};

}  // namespace detail

/// Ranks as threads of one process: the reference transport, and the one that sanitizers can look into.
///
/// The strictest of all: a send completes only once its receive has been posted (rendezvous), and nothing moves except
/// inside `test`. A program that runs here runs on any MPI.
class in_process {
 public:
  explicit in_process(int ranks) : ranks_(ranks) {
    if (ranks < 1) throw error("weft::transport::in_process: " + std::to_string(ranks) + " ranks; ask for at least 1");
    for (int pair = 0; pair < ranks * ranks; ++pair) mailboxes_.push_back(std::make_unique<detail::mailbox>());
  }

  [[nodiscard]] int size() const { return ranks_; }

  /// Requests posted and neither completed nor abandoned; 0 after a clean run.
  [[nodiscard]] long outstanding() const { return outstanding_.load(); }

  class door;

  /// Runs `function(endpoint&)` once per rank, each on its own thread, and joins them. Rethrows the exception of the
  /// rank that failed first; the others end through the failure channel.
  template <class Function>
  static void run(int ranks, Function&& function);

 private:
  detail::mailbox& between(int source, int destination) {
    return *mailboxes_[static_cast<std::size_t>(source * ranks_ + destination)];
  }

  /// One for the process: Kokkos has one scratch, whatever group a rank belongs to.
  struct launch_queue {
    launch_mutex mutex;
    std::atomic<in_process const*> group{nullptr};  // whose rank had it last
    std::atomic<int> rank{-1};
  };

  static launch_queue& launches() {
    static launch_queue queue;
    return queue;
  }

  int ranks_;
  std::vector<std::unique_ptr<detail::mailbox>> mailboxes_;
  std::atomic<long> outstanding_{0};
  std::atomic<int> failed_rank_{-1};
  std::atomic<bool> is_standstill_{false};
  std::string failure_;  // written once, before failed_rank_
  std::vector<whereabouts> whereabouts_;
  std::mutex failure_mutex_;
};

class in_process::door final : public endpoint {
 public:
  door(in_process& group, int rank) : group_(group), rank_(rank) {}
  ~door() override = default;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_.ranks_; }

  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    // the receiver only reads through this pointer
    return post(static_cast<std::byte*>(const_cast<void*>(data)), bytes, peer, tag, true);
  }
  [[nodiscard]] request receive(void* data, std::size_t bytes, int peer, int tag) override {
    return post(static_cast<std::byte*>(data), bytes, peer, tag, false);
  }

  [[nodiscard]] bool test(request& posted) override {
    if (!posted.pending) return true;
    auto* const mine = reinterpret_cast<detail::mailbox_post*>(posted.handle);
    if (!mine->done.load(std::memory_order_acquire)) {
      auto& box = box_of(*mine);
      std::lock_guard const lock(box.mutex);
      box.match();
      if (!mine->done.load(std::memory_order_relaxed)) return false;
    }
    if (!mine->is_send) {
      received_ = mine->received;
      if (mine->received > mine->bytes) {
        error_location where{.rank = rank_, .peer = mine->peer, .tag = mine->tag};
        throw error("weft::transport::in_process: rank " + std::to_string(rank_) + " received " +
                        std::to_string(mine->received) + " bytes from rank " + std::to_string(mine->peer) +
                        " where it expected at most " + std::to_string(mine->bytes) +
                        "; both ranks must use the same plan and model",
                    where);
      }
    }
    recycle(posted, mine);
    return true;
  }

  [[nodiscard]] std::size_t received_bytes() const override { return received_; }

  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (!posted.pending) return true;
    auto* const mine = reinterpret_cast<detail::mailbox_post*>(posted.handle);
    auto& box = box_of(*mine);
    {
      std::lock_guard const lock(box.mutex);
      if (!mine->done.load(std::memory_order_relaxed)) box.remove(mine->is_send ? box.sends : box.receives, mine);
    }
    recycle(posted, mine);
    return true;
  }

  void announce_failure(std::string_view message) noexcept override {
    std::lock_guard const lock(group_.failure_mutex_);
    if (group_.failed_rank_.load() >= 0) return;
    try {
      group_.failure_ = message;
    } catch (...) {  // out of memory: the rank number alone must do
    }
    group_.failed_rank_.store(rank_, std::memory_order_release);
  }

  void check_failure() override {
    int const failed = group_.failed_rank_.load(std::memory_order_acquire);
    if (failed < 0 || failed == rank_) return;
    if (group_.is_standstill_.load()) throw standstill(group_.failure_, {.rank = failed});
    throw remote_error(group_.failure_, {.rank = failed});
  }

  [[nodiscard]] std::vector<whereabouts> exchange_whereabouts(whereabouts const& own, double seconds) override {
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::duration<double>(seconds);
    for (bool is_first = true;; is_first = false) {
      {
        std::lock_guard const lock(group_.failure_mutex_);
        auto& all = group_.whereabouts_;
        all.resize(static_cast<std::size_t>(group_.ranks_));
        if (is_first) all[static_cast<std::size_t>(rank_)] = own;
        if (group_.failed_rank_.load() < 0) {
          group_.failure_ = own.text;
          group_.is_standstill_.store(true);
          group_.failed_rank_.store(rank_, std::memory_order_release);
        }
        bool const is_whole = std::all_of(all.begin(), all.end(), [](auto const& each) { return each.is_known; });
        if (is_whole || clock::now() >= end) return all;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void yield() noexcept override { std::this_thread::yield(); }

  [[nodiscard]] launch_guard launch_lock() override {
    auto& queue = launches();
    if (queue.mutex.is_mine()) return {};
    launch_guard lock(queue.mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
      auto const told = [&](double waited) {
        int const other = queue.group.load() == &group_ ? queue.rank.load() : -1;
        throw error("weft::transport::in_process: rank " + std::to_string(rank_) + " waited " +
                        std::to_string(static_cast<long>(waited)) + " s for its turn to launch kernels" +
                        (other < 0 ? "" : ", which rank " + std::to_string(other) + " has") +
                        "; ranks that are threads take turns",
                    {.rank = rank_, .peer = other});
      };
      wait_until(
          *this, 0.0, [&] { return lock.try_lock(); }, told, [] {});
    }
    queue.group.store(&group_, std::memory_order_relaxed);
    queue.rank.store(rank_, std::memory_order_relaxed);
    return lock;
  }

 private:
  [[nodiscard]] detail::mailbox& box_of(detail::mailbox_post const& post) {
    return post.is_send ? group_.between(rank_, post.peer) : group_.between(post.peer, rank_);
  }

  request post(std::byte* data, std::size_t bytes, int peer, int tag, bool is_send) {
    if (peer < 0 || peer >= group_.ranks_)
      throw error("weft::transport::in_process: there is no rank " + std::to_string(peer) + " among " +
                      std::to_string(group_.ranks_) + " ranks; check the placement",
                  {.rank = rank_, .peer = peer, .tag = tag});
    if (tag < 0 || tag > 32767)
      throw error("weft::transport::in_process: tag " + std::to_string(tag) + " is outside 0 to 32767",
                  {.rank = rank_, .peer = peer, .tag = tag});
    if (free_.empty()) {
      owned_.push_back(std::make_unique<detail::mailbox_post>());
      free_.reserve(owned_.size());
      free_.push_back(owned_.back().get());
    }
    detail::mailbox_post* const mine = free_.back();
    free_.pop_back();
    mine->data = data;
    mine->bytes = bytes;
    mine->received = 0;
    mine->peer = peer;
    mine->tag = tag;
    mine->is_send = is_send;
    mine->done.store(false, std::memory_order_relaxed);
    mine->next = nullptr;
    auto& box = box_of(*mine);
    {
      std::lock_guard const lock(box.mutex);
      box.append(is_send ? box.sends : box.receives, mine);
    }
    ++group_.outstanding_;
    return {reinterpret_cast<std::uintptr_t>(mine), true, is_send};
  }

  void recycle(request& posted, detail::mailbox_post* mine) noexcept {
    posted = {};
    free_.push_back(mine);  // capacity reserved in post
    --group_.outstanding_;
  }

  in_process& group_;
  int rank_;
  std::size_t received_ = 0;
  std::vector<std::unique_ptr<detail::mailbox_post>> owned_;
  std::vector<detail::mailbox_post*> free_;
};

template <class Function>
void in_process::run(int ranks, Function&& function) {
  in_process group(ranks);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  // The doors outlive the threads: a rank that is done early still owns posts that its peers look at.
  std::vector<std::unique_ptr<door>> doors;
  for (int rank = 0; rank < ranks; ++rank) doors.push_back(std::make_unique<door>(group, rank));
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < doors.size(); ++rank)
      threads.emplace_back([&, rank] {
        door& mine = *doors[rank];
        try {
          function(static_cast<endpoint&>(mine));
        } catch (agreed_error const&) {
          failures[rank] = std::current_exception();  // the others throw it, too, and may still be about to learn it
        } catch (std::exception const& failure) {
          failures[rank] = std::current_exception();
          mine.announce_failure(failure.what());
        } catch (...) {
          failures[rank] = std::current_exception();
          mine.announce_failure("weft: an exception that is no std::exception");
        }
      });
  }
  int const first = group.failed_rank_.load();
  if (first >= 0 && failures[static_cast<std::size_t>(first)])
    std::rethrow_exception(failures[static_cast<std::size_t>(first)]);
  for (auto const& each : failures)  // the first one kept its exception to itself
    if (each) std::rethrow_exception(each);
}

}  // namespace weft::inline v1::transport
