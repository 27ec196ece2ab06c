// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <string>
#include <vector>

/// @file
/// From the command line to `options`. Every value is checked here for its own range; what does not go together is
/// found by `check`. Does not communicate: every rank parses the same line and comes to the same end.

namespace mini_llm {

struct command_line {
  options chosen;
  std::string message;  ///< of --help and --version: print it and end with success
  [[nodiscard]] bool proceed() const { return message.empty(); }
};

/// Parses `arguments` (without the program's name). Errors: an unknown option (with the nearest known one), a value
/// that is no number or out of range (with the legal range), a `--config` that cannot be read.
command_line parse_command_line(std::vector<std::string> arguments);
command_line parse_command_line(int argc, char const* const* argv);

}  // namespace mini_llm
