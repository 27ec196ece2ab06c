// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace weft_schedule {

/// A text that may be shown on a terminal: at most `most` characters, what cannot be printed as '?'.
inline std::string printable(std::string_view text, std::size_t most = 40) {
  std::string shown;
  for (char const letter : text.substr(0, most))
    shown += std::isprint(static_cast<unsigned char>(letter)) != 0 ? letter : '?';
  if (text.size() > most) shown += "...";
  return shown;
}

/// The whole of a text file ("-": standard input), of at most `most` bytes. Throws `usage_error`: cannot be read, is
/// empty, too large, or no text.
inline std::string read_text(std::string const& path, std::size_t most = std::size_t{32} << 20U) {
  std::string const name = printable(path, 200);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(nullptr, &std::fclose);
  if (path != "-") {
    file.reset(std::fopen(path.c_str(), "rb"));
    if (!file) throw usage_error(name + ": " + std::strerror(errno) + "; give a file that can be read");
  }
  std::FILE* const from = file ? file.get() : stdin;
  std::string text;
  char piece[1 << 16];
  for (std::size_t count; (count = std::fread(piece, 1, sizeof piece, from)) > 0;) {
    if (std::memchr(piece, '\0', count) != nullptr)
      throw usage_error(name + ": is not text (it has a zero byte); give a table with one line per rank");
    text.append(piece, count);
    if (text.size() > most)
      throw usage_error(name + ": is larger than " + std::to_string(most >> 20U) +
                        " MiB, which no table needs; give a smaller one");
  }
  if (std::ferror(from) != 0) throw usage_error(name + ": " + std::strerror(errno) + "; give a file that can be read");
  for (char const letter : text)
    if (static_cast<unsigned char>(letter) < 0x20U && letter != '\n' && letter != '\r' && letter != '\t')
      throw usage_error(name + ": is not text (it has control characters); give a table with one line per rank");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw usage_error(name + ": is empty; write one line per rank");
  return text;
}

}  // namespace weft_schedule
