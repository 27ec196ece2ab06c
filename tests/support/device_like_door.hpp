// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "guarded_memory.hpp"

#include <weft/transport/relay.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>

namespace weft_test {

/// Makes a host rank like one with a device: what the engine hands over in host memory goes to guarded memory first,
/// and the door inside, which stages by `guarded_copies`, gets that. Whoever reads it without a copy dies.
class device_like_door final : public weft::transport::relay {
 public:
  using weft::transport::relay::relay;
  ~device_like_door() override {
    for (auto const& [handle, each] : under_way_) guarded_memory::free(each.device);
  }

  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return memory == "Host" && inner().moves_parts(peer, "Guarded");
  }
  [[nodiscard]] weft::transport::request send_parts(weft::transport::outgoing_parts const& parts, int peer,
                                                    int tag) override {
    void* const device = guarded_memory::allocate(parts.body_bytes);
    copy(device, parts.body, parts.body_bytes);
    auto const made = inner().send_parts({parts.head, parts.head_bytes, device, parts.body_bytes}, peer, tag);
    under_way_[made.handle] = {device, nullptr, 0};
    ++bodies_;
    return made;
  }
  [[nodiscard]] weft::transport::request receive_parts(weft::transport::incoming_parts const& parts, int peer,
                                                       int tag) override {
    void* const device = guarded_memory::allocate(parts.body_bytes);
    auto const made = inner().receive_parts({parts.head, parts.head_bytes, device, parts.body_bytes}, peer, tag);
    under_way_[made.handle] = {device, parts.body, parts.head_bytes};
    return made;
  }
  [[nodiscard]] bool test(weft::transport::request& posted) override {
    auto const handle = posted.handle;
    bool const is_in_parts = posted.is_in_parts && posted.pending;
    if (!inner().test(posted)) return false;
    if (is_in_parts) end(handle, true);
    return true;
  }
  [[nodiscard]] bool abandon(weft::transport::request& posted) noexcept override {
    auto const handle = posted.handle;
    bool const is_in_parts = posted.is_in_parts && posted.pending;
    bool const is_free = inner().abandon(posted);
    if (is_in_parts) end(handle, false);
    return is_free;
  }

  /// Bodies sent so far.
  [[nodiscard]] int bodies() const { return bodies_; }

 private:
  struct message {
    void* device = nullptr;
    void* host = nullptr;  ///< where a receive's body belongs
    std::size_t head_bytes = 0;
  };

  static void copy(void* to, void const* from, std::size_t bytes) {
    guarded_memory::opened const one(from);
    guarded_memory::opened const other(to);
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void end(std::uintptr_t handle, bool has_come) {
    auto const found = under_way_.find(handle);
    if (found == under_way_.end()) return;
    if (has_come && found->second.host != nullptr)
      copy(found->second.host, found->second.device, inner().received_bytes() - found->second.head_bytes);
    guarded_memory::free(found->second.device);
    under_way_.erase(found);
  }

  std::map<std::uintptr_t, message> under_way_;
  int bodies_ = 0;
};

}  // namespace weft_test
