// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::model {

/// Cuts one buffer into aligned tensors. Without a buffer it only counts bytes, so that the same code says how much
/// memory a layout needs (a constant, while compiling) and where everything lies. Copying it marks a place: what the
/// copy hands out is free again when the copy goes.
class arena {
 public:
  static constexpr std::size_t alignment = 64;

  constexpr arena() = default;
  explicit constexpr arena(std::byte* base) : base_(base) {}

  template <class Type>
  constexpr Type* take(std::int64_t count) {
    std::size_t const at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(Type) + alignment - 1) / alignment * alignment;
    return base_ == nullptr ? nullptr : reinterpret_cast<Type*>(base_ + at);
  }

  [[nodiscard]] constexpr std::size_t used() const { return used_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
};

/// Bytes of a layout struct that is constructible from (arena&, arguments...).
template <class Layout, class... Arguments>
constexpr std::size_t bytes_of(Arguments const&... arguments) {
  arena counting;
  Layout const layout(counting, arguments...);
  static_cast<void>(layout);
  return counting.used();
}

}  // namespace weft::inline v1::model
