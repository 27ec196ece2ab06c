// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace weft_schedule {

/// Characters of a line: the terminal's, or $COLUMNS, or 118.
inline int terminal_width(int asked) {
  if (asked > 0) return asked;
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
    return size.ws_col;
  char const* const columns = std::getenv("COLUMNS");
  int const width = columns != nullptr ? std::atoi(columns) : 0;  // NOLINT(cert-err34-c): rubbish is 0
  return width >= 20 && width <= 10000 ? width : 118;
}

/// On a terminal, unless NO_COLOR (no-color.org) or TERM=dumb says otherwise.
inline bool wants_color(std::string const& asked) {
  if (asked == "always") return true;
  if (asked == "never") return false;
  if (asked != "auto") throw usage_error("--color: \"" + asked + "\" is not known; use auto, always or never");
  char const* const off = std::getenv("NO_COLOR");
  char const* const kind = std::getenv("TERM");
  return (off == nullptr || *off == '\0') && isatty(STDOUT_FILENO) != 0 &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}

/// A picture of schedule::draw_text with passes in colours: F blue, B orange, I yellow, W green, R cyan.
inline std::string colored(std::string const& picture) {
  std::string text;
  bool in_row = false;
  bool in_cell = false;
  for (std::size_t at = 0; at < picture.size(); ++at) {
    char const letter = picture[at];
    bool const begins =
        in_row && !in_cell && letter != ' ' && letter != '.' && letter != '|' && letter != '>' && letter != '\n';
    bool const ends = in_cell && (letter == ' ' || letter == '.' || letter == '|' || letter == '>' || letter == '\n');
    if (ends) text += "\033[0m";
    if (ends) in_cell = false;
    if (begins) {
      std::size_t const name = picture.find_first_not_of("0123456789", at);
      char const kind = name == std::string::npos ? ' ' : picture[name];
      text += kind == 'F'   ? "\033[34m"
              : kind == 'B' ? "\033[31m"
              : kind == 'I' ? "\033[33m"
              : kind == 'W' ? "\033[32m"
              : kind == 'R' ? "\033[36m"
                            : "\033[35m";
      in_cell = true;
    }
    if (letter == '|') in_row = true;
    if (letter == '\n') in_row = false;
    text += letter;
  }
  return text;
}

}  // namespace weft_schedule
