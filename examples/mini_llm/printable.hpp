// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mini_llm {

/// Bytes as a terminal can be sent them: well-formed UTF-8, line ends and tabs as they are; control characters and
/// bytes that are no UTF-8 as \xHH. No sequence that moves a cursor or changes a colour gets through.
std::string printable(std::span<std::uint8_t const> bytes);

std::string printable(std::string_view text);

/// A name from a file as it may stand in an error message: printable, not endless, in quotes.
std::string quoted_name(std::string const& name);

}  // namespace mini_llm
