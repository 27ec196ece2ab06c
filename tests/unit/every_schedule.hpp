// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/sweep.hpp"

#include <weft/schedule/make_program.hpp>
#include <weft/schedule/registry.hpp>

#include <doctest/doctest.h>

#include <string>

namespace every_schedule {

namespace ws = weft::schedule;

/// What a test says about the case at hand.
struct shape_of_case {
  ws::schedule_entry const* entry = nullptr;
  ws::shape chosen = {};
  int ranks = 0;
  int micro_batches = 0;

  [[nodiscard]] std::string text() const {
    std::string result = std::string(entry->name) + ", " + std::to_string(ranks) + " ranks, " +
                         std::to_string(micro_batches) + " micro-batches";
    if (chosen.chunks != 0) result += ", " + std::to_string(chosen.chunks) + " chunks";
    return result;
  }
};

/// Calls `body(case, table)` for every legal shape of every named schedule: ranks 1 .. `ranks`, micro-batches 1 ..
/// `micro_batches`, chunks 1 .. 4 where the schedule takes them; under a sanitizer for a fifth of them, of each
/// schedule one at least. Returns how many there were.
template <class Body>
int for_all(int ranks, int micro_batches, Body&& body) {
  int cases = 0;
  auto const play = [&](shape_of_case const& at) {
    ws::program const table = at.entry->table(at.chosen, at.ranks, at.micro_batches);
    INFO(at.text());
    body(at, table.view());
  };
  for (ws::schedule_entry const& entry : ws::schedules) {
    shape_of_case left_out;  // the last of those, while none was played
    bool is_played = false;
    for (int chunks = 0; chunks <= (entry.parameters.chunks ? 4 : 0); ++chunks)
      for (int p = 1; p <= ranks; ++p)
        for (int m = 1; m <= micro_batches; ++m) {
          ws::shape chosen;
          chosen.chunks = chunks;
          if (!entry.check(chosen, p, m).legal()) continue;
          ++cases;
          shape_of_case const at{&entry, chosen, p, m};
          if (weft_test::is_sanitized && (chunks + 2 * p + 3 * m) % 5 != 0) {
            left_out = at;
          } else {
            is_played = true;
            play(at);
          }
        }
    if (!is_played && left_out.entry != nullptr) play(left_out);
  }
  return cases;
}

}  // namespace every_schedule
