// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace weft::inline v1::transport {

/// A mutex that tells a thread whether it holds it: what moves messages may run inside of a launch or outside.
class launch_mutex {
 public:
  void lock() {
    mutex_.lock();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  [[nodiscard]] bool try_lock() {
    if (!mutex_.try_lock()) return false;
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    holder_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }

  /// Nobody but this thread makes it true or false for this thread.
  [[nodiscard]] bool is_mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
};

/// What endpoint::launch_lock gives; empty where there is nothing to hold.
using launch_guard = std::unique_lock<launch_mutex>;

}  // namespace weft::inline v1::transport
