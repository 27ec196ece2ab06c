// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>
#include <string_view>

namespace weft::inline v1::detail {

/// FNV-1a, 64 bits, of what nobody forges: names, plans, lists. Works in a constant expression, as no library's does.
class fnv1a {
 public:
  constexpr fnv1a& add(std::string_view text) {
    for (char const letter : text) add_byte(static_cast<unsigned char>(letter));
    return *this;
  }
  /// Of any integer, as 8 bytes, the lowest first.
  constexpr fnv1a& add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) add_byte((word >> (8 * byte)) & 255U);
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  constexpr void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 1099511628211U; }

  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace weft::inline v1::detail
