// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/shape.hpp>

#include <string>
#include <string_view>

namespace weft::inline v1::schedule {

/// The table of a schedule by any of its names. Throws `weft::error`: no such name (with the names there are), or the
/// rule that ranks, micro-batches or shape break.
inline program make_table(std::string_view name, int ranks, int micro_batches, shape const& chosen = {}) {
  return known_schedule(name).table(chosen, ranks, micro_batches);
}

/// The program of a schedule by any of its names (see `schedules`, registry.hpp): checked, lowered, and played under
/// rendezvous. `chosen` holds chunks and the like for schedules that take them. Throws `weft::error` as `make_table`
/// does, or with the verdict. Does not communicate: every rank makes the same.
inline program make_program(std::string_view name, int ranks, int micro_batches, lower_options const& options = {},
                            shape const& chosen = {}) {
  return checked_program(make_table(name, ranks, micro_batches, chosen).view(), options);
}

}  // namespace weft::inline v1::schedule
