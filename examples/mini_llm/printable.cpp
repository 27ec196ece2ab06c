// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "printable.hpp"

namespace mini_llm {

std::string printable(std::span<std::uint8_t const> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  // Length of the well-formed sequence at `place`, 0 if there is none (overlong forms, surrogates and beyond U+10FFFF
  // are malformed).
  auto const sequence = [&](std::size_t place) -> std::size_t {
    std::uint8_t const lead = bytes[place];
    std::size_t const length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || place + length > bytes.size()) return 0;
    for (std::size_t index = 1; index < length; ++index)
      if ((bytes[place + index] & 0xC0) != 0x80) return 0;
    if (length == 1) return 1;
    std::uint8_t const second = bytes[place + 1];
    if (lead == 0xC2 && second < 0xA0) return 0;  // U+0080..U+009F are control characters, too
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return length;
  };
  std::string result;
  for (std::size_t place = 0; place < bytes.size();) {
    std::uint8_t const byte = bytes[place];
    std::size_t const length = sequence(place);
    bool const control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (length == 0 || control) {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
      ++place;
    } else {
      for (std::size_t index = 0; index < length; ++index) result += static_cast<char>(bytes[place + index]);
      place += length;
    }
  }
  return result;
}

std::string printable(std::string_view text) {
  return printable(std::span(reinterpret_cast<std::uint8_t const*>(text.data()), text.size()));
}

std::string quoted_name(std::string const& name) {
  constexpr std::size_t longest = 120;
  return "\"" + printable(name.substr(0, longest)) + (name.size() > longest ? "..." : "") + "\"";
}

}  // namespace mini_llm
