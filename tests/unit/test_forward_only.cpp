// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/cost.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

using namespace weft::schedule;
using schedule_support::letters;

TEST_CASE("forward_only has forwards and posts alone, and keeps nothing") {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int micro_batches : {1, 2, 3, 8}) {
      auto const made = make_program("forward_only", ranks, micro_batches);
      auto const found = play(made.view());
      REQUIRE(found.playable());
      CHECK(found.peak_activations == 1);
      CHECK(found.largest_tag == (ranks > 1 ? 2 * (ranks - 2) : -1));
      CHECK(cost(made.view()).idle_most == forward_only::idle(ranks, micro_batches, 1.0, 0.0));
      for (int rank = 0; rank < ranks; ++rank)
        for (action const& cell : made.view().row(rank)) {
          bool const is_post = cell.what == op::send_forward || cell.what == op::receive_forward;
          CHECK((cell.what == op::forward || is_post));
          CHECK(cell.slot < 2);
        }
    }
}

TEST_CASE("a backward in a forward-only program is refused") {
  auto const made = write_table<forward_only>(2, 2);
  schedule_support::editable edited(made.view());
  edited.rows[1].push_back(make_action(op::backward, 1, 0));
  auto const found = edited.play();
  CHECK(found.what == defect::unexpected_action);
  CHECK(found.rank == 1);
  CHECK(found.position == 2);
}
