// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/advance.hpp>
#include <weft/schedule/detail/scan.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft::inline v1::schedule {

/// The proof: plays a program as the ranks will, and reports the first defect or the program's figures.
///
/// 1. `scan` reads each row alone: ranges, completeness against `program.work`, F < I <= W, one post per message and
///    side, slots never taken while in use, orders of messages per edge.
/// 2. `advance` lets every rank run as far as its messages allow, again and again. Posts never block (except under
///    `send_model::blocking`); a compute action waits for its receives and for the send that last used its output
///    slot. Ranks wait for named messages only, so the order in which they are advanced does not change the result.
///
/// A table without posts is played as if every message were sent by its producer and received at once.
/// `ranks`, where given, receives figures per rank (`program.ranks()` of them). Runs while compiling, too; needs time
/// and memory proportional to the number of actions. Does not communicate.
constexpr verdict play(program_view const& program, send_model model = send_model::rendezvous,
                       rank_figures* ranks = nullptr) {
  detail::scanner scan(program, model);
  scan.run(ranks);
  if (!scan.found.playable()) return scan.found;
  detail::advance(scan);
  return scan.found;
}

}  // namespace weft::inline v1::schedule
