// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/verdict.hpp>

#include <string>

namespace weft::inline v1::transport {

/// Throws the verdict of a program that cannot be played where messages have no tags and each rank has one queue of
/// groups (`send_model::in_issue_order`, see docs/checking.md). Every rank says the same. Does not communicate.
inline void require_issue_order(schedule::program_view const& program) {
  auto const found = schedule::play(program, schedule::send_model::in_issue_order);
  if (!found.playable())
    throw agreed_error(
        "weft::transport: the program '" + std::string(program.name) +
            "' cannot run over a library that has one queue of messages per rank: " + schedule::explain(found) +
            "; lower it with receive_time::at_use (a plan: held_to<send_model::in_issue_order>), or take another door",
        {found.rank, found.stage, found.micro_batch, found.peer, -1});
}

}  // namespace weft::inline v1::transport
