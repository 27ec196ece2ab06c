// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/schedule/registry.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tiny_training;

TEST_CASE("all schedules: the trainer has a serial run's bits under every one with one step at its end") {
  int played = 0;
  int of_two_copies = 0;
  int in_another_order = 0;
  for (int const micro_batches : {2, 4, 6}) {
    auto const serial = run({.micro_batches = micro_batches}, 3);
    auto const grouped = run({.micro_batches = micro_batches / 2, .gradient_groups = 2}, 3);
    for (auto const& each : weft::schedule::schedules) {
      if (std::string(each.name) == "forward_only") continue;
      for (int ranks = 1; ranks <= 4; ++ranks) {
        if (!each.check({}, ranks, micro_batches).legal()) continue;
        auto const program = weft::schedule::make_program(each.name, ranks, micro_batches);
        if (program.view().work.asynchronous) continue;
        CAPTURE(each.name);
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        plan how{.schedule = each.name, .ranks = ranks, .micro_batches = micro_batches};
        auto const found = run(how, 3);
        ++played;
        bool const ascends = weft::schedule::play(program.view()).order == weft::schedule::accumulation::ascending;
        if (program.view().graph.copies > 1) {  // each copy has a group of its own
          ++of_two_copies;
          CHECK(ascends);
          CHECK(found == grouped);
        } else if (ascends) {
          CHECK(found == serial);
        } else {
          ++in_another_order;
          how.ranks = 1;
          how.replay = ranks;
          CHECK(found == run(how, 3));
        }
      }
    }
  }
  MESSAGE(played << " shapes, " << of_two_copies << " of two copies, " << in_another_order << " in another order");
  CHECK(played > 70);
  CHECK(of_two_copies >= 7);
  CHECK(in_another_order >= 9);
}
