// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/write_table.hpp>

#include <string>
#include <string_view>

namespace weft::inline v1::schedule {

/// Throws the verdict of a program that cannot be played.
inline void require_playable(verdict const& found, std::string_view name) {
  if (found.playable()) return;
  throw error("weft::schedule::" + std::string(name) + ": " + explain(found),
              {found.rank, found.stage, found.micro_batch, found.peer, -1});
}

/// A table of compute actions, lowered and played under rendezvous. Throws `weft::error` with the verdict.
WEFT_SCHEDULES_INLINE program checked_program(program_view const& table, lower_options const& options = {});

/// Any table of compute actions (hand-made, planned, read from a file): checked, lowered, and played.
WEFT_SCHEDULES_INLINE program make_program(program_view const& table, lower_options const& options = {});

/// A policy's program for a shape that is known at start-up: checked, lowered, and played under rendezvous. `policy` is
/// an object where chunks and the like come at run time too.
/// Throws `weft::error` with the policy's rule, or with the verdict. Does not communicate: every rank makes the same.
template <class Policy>
program make_program(int ranks, int micro_batches, lower_options const& options = {}, Policy const& policy = {}) {
  return checked_program(write_table(ranks, micro_batches, policy).view(), options);
}

#if defined(WEFT_DEFINES_SCHEDULES)

WEFT_SCHEDULES_INLINE program checked_program(program_view const& table, lower_options const& options) {
  verdict proof;
  program result = lower(table, options, &proof);
  require_playable(proof, table.name);
  return result;
}

WEFT_SCHEDULES_INLINE program make_program(program_view const& table, lower_options const& options) {
  require_playable(play(table), table.name);
  return checked_program(table, options);
}

#endif

}  // namespace weft::inline v1::schedule
