// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/transport/copies.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

namespace weft_test {

/// Memory as a device's is: the host that reads or writes it, MPI included, gets a signal and dies. It is open inside
/// `guarded_memory::opened` alone, which stands for kernels and copies. Allocations are whole pages, so neighbours stay
/// closed.
class guarded_memory {
 public:
  static void* allocate(std::size_t bytes) {
    std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t const whole = (bytes / page + 1) * page;
    void* const data = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    auto& all = allocations();
    std::lock_guard const lock(all.mutex);
    all.sizes[static_cast<char*>(data)] = {whole, 0};
    return data;
  }
  static void free(void* data) {
    auto& all = allocations();
    std::lock_guard const lock(all.mutex);
    auto const found = all.sizes.find(static_cast<char*>(data));
    munmap(data, found->second.bytes);
    all.sizes.erase(found);
  }

  /// True for addresses inside some allocation.
  static bool holds(void const* data) {
    auto& all = allocations();
    std::lock_guard const lock(all.mutex);
    return find(all, data) != all.sizes.end();
  }

  /// Opens the allocation that an address lies in until the end of the scope; several may be open at once.
  class opened {
   public:
    explicit opened(void const* data) : data_(data) { change(1); }
    opened(opened const&) = delete;
    opened& operator=(opened const&) = delete;
    ~opened() { change(-1); }

   private:
    void change(int by) const {
      auto& all = allocations();
      std::lock_guard const lock(all.mutex);
      auto const found = find(all, data_);
      if (found == all.sizes.end()) return;
      found->second.users += by;
      mprotect(found->first, found->second.bytes, found->second.users > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
    void const* data_;
  };

 private:
  struct allocation {
    std::size_t bytes = 0;
    int users = 0;
  };
  struct table {
    std::mutex mutex;
    std::map<char*, allocation> sizes;
  };
  static table& allocations() {
    static table all;
    return all;
  }
  static std::map<char*, allocation>::iterator find(table& all, void const* data) {
    auto* const address = static_cast<char*>(const_cast<void*>(data));
    auto found = all.sizes.upper_bound(address);
    if (found == all.sizes.begin()) return all.sizes.end();
    --found;
    return address < found->first + found->second.bytes ? found : all.sizes.end();
  }
};

/// How a transport gets at guarded memory. A copy really happens in the second `is_done` after it was begun: whoever
/// uses one side of it too early sees wrong bytes.
class guarded_copies {
 public:
  using host_buffer = weft::transport::host_copies::host_buffer;

  [[nodiscard]] std::string_view memory() const { return "Guarded"; }
  [[nodiscard]] host_buffer make_host_buffer(std::size_t bytes) { return host_buffer(bytes); }

  std::uint64_t to_host(void* host, void const* body, std::size_t bytes) { return begin(host, body, bytes); }
  std::uint64_t to_device(void* body, void const* host, std::size_t bytes) { return begin(body, host, bytes); }
  [[nodiscard]] bool is_done(std::uint64_t number) {
    if (number <= done_) return true;
    for (auto& [each, found] : under_way_) {
      if (++found.asked < 2) break;
      guarded_memory::opened const from(found.from);
      guarded_memory::opened const to(found.to);
      std::memcpy(found.to, found.from, found.bytes);
      done_ = each;
    }
    under_way_.erase(under_way_.begin(), under_way_.upper_bound(done_));
    return number <= done_;
  }

 private:
  struct copy {
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t bytes = 0;
    int asked = 0;
  };
  std::uint64_t begin(void* to, void const* from, std::size_t bytes) {
    under_way_[++begun_] = {to, from, bytes, 0};
    return begun_;
  }
  std::map<std::uint64_t, copy> under_way_;
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
};
static_assert(weft::transport::memory_copies<guarded_copies>);

}  // namespace weft_test
