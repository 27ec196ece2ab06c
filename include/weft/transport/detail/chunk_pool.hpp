// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weft::inline v1::transport::detail {

/// Host buffers that the links of one door share. Each link adds as many as it may hold at once, so none ever waits for
/// another one's; the buffer that was given back last goes out first, since it is the one that still lies in a cache
/// (measured: docs/transports.md).
template <class Copies>
class chunk_pool {
 public:
  using buffer = typename Copies::host_buffer;

  chunk_pool(Copies& copies, std::size_t bytes) : copies_(copies), bytes_(bytes) {}
  chunk_pool(chunk_pool const&) = delete;
  chunk_pool& operator=(chunk_pool const&) = delete;
  ~chunk_pool() = default;

  void grow(std::size_t count) {
    free_.reserve(owned_.size() + count);
    for (std::size_t index = 0; index < count; ++index) {
      owned_.push_back(std::make_unique<buffer>(copies_.make_host_buffer(bytes_)));
      free_.push_back(owned_.back().get());
    }
  }

  [[nodiscard]] buffer* take() {
    buffer* const found = free_.back();
    free_.pop_back();
    return found;
  }
  void give_back(buffer* used) noexcept { free_.push_back(used); }  // capacity reserved in grow

  /// Keeps a buffer for ever: somebody may go on reading it.
  void lose(buffer const* used) noexcept {
    for (auto& each : owned_)
      if (each.get() == used) static_cast<void>(each.release());
  }

  [[nodiscard]] std::size_t bytes() const { return owned_.size() * bytes_; }

 private:
  Copies& copies_;
  std::size_t bytes_;
  std::vector<std::unique_ptr<buffer>> owned_;
  std::vector<buffer*> free_;
};

}  // namespace weft::inline v1::transport::detail
