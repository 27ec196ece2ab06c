// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace weft::inline v1::model {

/// Equal slots in one buffer, which grows and never shrinks. What was in the old one is lost. Does not communicate.
template <class MemorySpace>
class slot_buffer {
 public:
  slot_buffer() = default;
  /// None yet, each of so many bytes. `label`: of the memory, as Kokkos Tools show it.
  slot_buffer(char const* label, std::size_t slot_bytes) : label_(label), slot_bytes_(slot_bytes) {}

  /// To `wanted` slots or more; the others' addresses change. Throws `memory_error`.
  void grow(int wanted) {
    if (wanted <= count_) return;
    count_ = wanted;
    buffer_ = view();  // gives the old one back first
    buffer_ =
        execution::allocate<view>(label_, slot_bytes_ * static_cast<std::size_t>(wanted), Kokkos::WithoutInitializing);
  }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] std::byte* data() const { return buffer_.data(); }
  [[nodiscard]] std::byte* operator[](int slot) const {
    return buffer_.data() + slot_bytes_ * static_cast<std::size_t>(slot);
  }
  [[nodiscard]] std::size_t bytes() const { return buffer_.extent(0); }

 private:
  using view = Kokkos::View<std::byte*, MemorySpace>;
  char const* label_ = "weft::slots";
  std::size_t slot_bytes_ = 0;
  int count_ = 0;
  view buffer_;
};

}  // namespace weft::inline v1::model
