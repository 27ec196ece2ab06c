// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"
#include "options.hpp"
#include "windows.hpp"

#include <weft/error.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/serial_replay.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// @file
/// Which table `--schedule` means: that of a name, one that a file holds, or the serial replay of either. Nothing here
/// communicates.

namespace mini_llm {

/// The text of a table. Errors: no such file, or one that is too large to be a table.
std::string read_table_text(std::string const& path);

/// The table in a file: PyTorch's grammar, and of weft-schedule's first line ("# weft-table 1 ...") what matters here.
/// Errors name row, column and cell, or what the checker found.
weft::schedule::program read_table(std::string const& path, std::string_view text);

/// Whether `--schedule` names a file.
inline bool has_own_table(options const& chosen) { return !chosen.table.empty(); }

/// The table that one pipeline of `ranks` ranks plays (0: only a file's own ranks are known). Throws with the rule that
/// is broken.
weft::schedule::program table_of(options const& chosen, int ranks);

/// When its program posts receives: under `--door nccl` such that one queue per rank can run it.
inline weft::schedule::receive_time receives_of(options const& chosen) {
  using namespace weft::schedule;
  return chosen.door == door_kind::nccl ? receives_under(send_model::in_issue_order) : receive_time::early;
}

}  // namespace mini_llm
