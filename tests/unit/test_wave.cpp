// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/wave.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft::schedule;

TEST_CASE("wave: zig-zag placement, and no message where a wave turns") {
  auto const made = make_program<wave<2>>(3, 4);
  auto const& graph = made.view().graph;
  CHECK(graph.stages == 12);
  int const ranks[] = {0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0};
  for (int stage = 0; stage < 12; ++stage) CHECK(graph.rank_of(stage) == ranks[stage]);
  for (int rank = 0; rank < 3; ++rank)
    for (action const& cell : made.view().row(rank))
      if (cell.what == op::send_forward) CHECK(graph.rank_of(cell.stage) != graph.rank_of(cell.stage + 1));
}

TEST_CASE("wave: precedence, placement, and never more activations than 1F1B, for every shape") {
  for (int waves = 1; waves <= 4; ++waves)
    for (int ranks : {1, 2, 3, 4, 5, 8, 16})
      for (int micro_batches : {1, 2, 3, 4, 5, 8, 9, 16}) {
        if (waves * ranks * micro_batches > 512) continue;
        CAPTURE(waves);
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        wave_values const policy{waves, 2 * waves};
        auto const table = write_table(ranks, micro_batches, policy);
        auto const found = play(table.view());
        REQUIRE(explain(found) == "");
        CHECK(found.order == accumulation::ascending);
        CHECK(found.peak_activations <= std::min(ranks, micro_batches) * 2 * waves);
        verdict lowered;
        lower(table.view(), {}, &lowered);
        CHECK(explain(lowered) == "");
      }
  for (int waves : {1, 2})
    for (int ranks : {1, 2, 4})
      for (int micro_batches : {1, 4, 7})
        policy_checks::formulas_of(wave_values{waves, 2 * waves}, ranks, micro_batches);
}

TEST_CASE("wave: backwards come first, and with M = p the idle share falls with the number of waves") {
  auto const share = [](int waves, int ranks) {
    return cost(write_table(ranks, ranks, wave_values{waves, 2 * waves}).view()).idle_share(ranks);
  };
  CHECK(share(1, 4) == 12.0 / 36.0);
  CHECK(share(2, 4) == 13.0 / 61.0);
  CHECK(share(4, 4) == 13.0 / 109.0);
  for (int ranks : {2, 3, 4, 6, 8}) {
    CHECK(share(2, ranks) < share(1, ranks));
    CHECK(share(4, ranks) < share(2, ranks));
  }
}

TEST_CASE("wave says which rule is broken and what would be legal") {
  policy_checks::rules<wave<2>>();
  CHECK(wave<0>::check(4, 8) == validity{rule::needs_a_wave, 0, 1});
  CHECK(wave<-1>::check(4, 8) == validity{rule::needs_a_wave, -1, 1});
  CHECK(wave<40000>::check(1, 8).broken == rule::too_many_stages);
}

TEST_CASE("wave by name: waves, or chunks, which are two a wave") {
  CHECK(canonical_name("Hanayo") == "wave");
  CHECK(make_program("wave", 2, 4).view().stages() == 4);
  CHECK(make_program("wave", 2, 4, {}, {.waves = 2}).view().stages() == 8);
  CHECK(make_program("wave", 2, 4, {}, {.chunks = 4}).view().stages() == 8);
  CHECK(known_schedule("wave").check({.chunks = 3}, 2, 4) == validity{rule::needs_even_chunks, 3, 4});
  CHECK(known_schedule("wave").check({.chunks = 2, .waves = 2}, 2, 4) == validity{rule::chunks_are_fixed, 2, 4});
  CHECK_THROWS_WITH_AS(
      make_program("wave", 2, 4, {}, {.waves = -2}),
      "weft::schedule::wave: there is no wave to run; use waves 1 or more (asked for -2, nearest legal 1)",
      weft::error);
}
