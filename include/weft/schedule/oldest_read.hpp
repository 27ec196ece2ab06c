// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule {

/// How many STEPs behind a stage's newest weights the oldest are that one of its actions reads: a ring of one version
/// more holds all of them, with the weights of v STEPs in place v modulo its size. 0 in flushing schedules.
constexpr int oldest_read(program_view const& program, int stage, int copy = 0) {
  int steps = program.work.steps_before;
  int oldest = 0;
  for (action const& cell : program.row(program.graph.rank_of(stage, copy))) {
    if (cell.stage != stage || cell.copy != copy) continue;
    if (cell.what == op::step) ++steps;
    if (!program.work.asynchronous || !traits_of(cell.what).is_compute) continue;
    int const behind = (steps - cell.version) & 255;
    if (behind > oldest) oldest = behind;
  }
  return oldest;
}

}  // namespace weft::inline v1::schedule
