// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/schedule/registry.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tiny_training;

TEST_CASE("all schedules: the trainer has the serial run's bits under every one that adds gradients in its order") {
  int played = 0;
  for (int const micro_batches : {2, 4, 6}) {
    auto const serial = run({.micro_batches = micro_batches}, 3);
    for (auto const& each : weft::schedule::schedules) {
      if (std::string(each.name) == "forward_only") continue;
      for (int ranks = 1; ranks <= 4; ++ranks) {
        if (!each.check({}, ranks, micro_batches).legal()) continue;
        auto const program = weft::schedule::make_program(each.name, ranks, micro_batches);
        bool const is_serial_order =
            weft::schedule::play(program.view()).order == weft::schedule::accumulation::ascending;
        if (program.view().graph.copies > 1 || program.view().work.asynchronous || !is_serial_order) continue;
        CAPTURE(each.name);
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        CHECK(run({.schedule = each.name, .ranks = ranks, .micro_batches = micro_batches}, 3) == serial);
        ++played;
      }
    }
  }
  MESSAGE(played << " shapes");
  CHECK(played > 60);
}
