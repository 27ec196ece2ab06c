// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/interleaved_zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("interleaved_zero_bubble prints the orders that others published") {
  auto const made = write_table<interleaved_zero_bubble<2>>(2, 4);
  policy_checks::same_order(
      made.view(),
      "0F0,0F1,2F0,2F1,2I0,2W0,0F2,2I1,2W1,0F3,0I0,0W0,2F2,0I1,0W1,2F3,2I2,2W2,2I3,2W3,0I2,0W2,0I3,0W3\n"
      "1F0,1F1,3F0,3I0,3F1,3I1,3W0,1F2,1I0,3W1,1F3,1I1,1W0,3F2,3I2,1W1,3F3,3I3,3W2,1I2,3W3,1I3,1W2,1W3\n");
  CHECK(cost(made.view()).makespan == 25.0);
  policy_checks::for_each_listed("interleaved_zb1p", [](auto const& row, std::string const& text) {
    auto const table = write_table(row.ranks, row.micro_batches, interleaved_zero_bubble_values{row.chunks, 0});
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  });
}

TEST_CASE("interleaved_zero_bubble: the formulas of its comment hold for every shape and every legal group") {
  for (int chunks = 1; chunks <= 4; ++chunks)
    for (int ranks : {1, 2, 3, 4, 5, 8, 16})
      for (int micro_batches : {1, 2, 3, 4, 5, 8, 9, 17}) {
        CAPTURE(chunks);
        interleaved_zero_bubble_values const policy{chunks, 0};
        policy_checks::formulas_of(policy, ranks, micro_batches);
        policy_checks::idle_of_halves(policy, ranks, micro_batches);
        std::vector<rank_figures> figures(static_cast<std::size_t>(ranks));
        play(write_table(ranks, micro_batches, policy).view(), send_model::rendezvous, figures.data());
        for (int rank = 0; rank < ranks; ++rank)
          CHECK(figures[static_cast<std::size_t>(rank)].peak_weight_contexts ==
                policy.peak_weight_contexts(rank, ranks, micro_batches));
      }
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches)
      for (int group = 1; group <= micro_batches; ++group) {
        CAPTURE(group);
        interleaved_zero_bubble_values const policy{2, group};
        if (policy.check(ranks, micro_batches).legal()) policy_checks::formulas_of(policy, ranks, micro_batches);
      }
}

TEST_CASE("interleaved_zero_bubble with one chunk is ZB-H1") {
  for (int ranks : {1, 3, 4})
    for (int micro_batches : {1, 2, 4, 9})
      CHECK(write_csv(write_table<interleaved_zero_bubble<1>>(ranks, micro_batches).view()) ==
            write_csv(write_table<zero_bubble_h1>(ranks, micro_batches).view()));
}

TEST_CASE("interleaved_zero_bubble says which rule is broken and what would be legal") {
  policy_checks::rules<interleaved_zero_bubble<2>>();
  CHECK(interleaved_zero_bubble<0>::check(4, 8) == validity{rule::needs_a_chunk, 0, 1});
  CHECK(interleaved_zero_bubble<2, 5>::check(4, 8) == validity{rule::group_fits, 5, 4});
}

TEST_CASE("interleaved_zero_bubble by any of its names") {
  for (char const* const name : {"interleaved-zb", "InterleavedZeroBubble", "interleaved_zb1p"})
    CHECK(canonical_name(name) == "interleaved-zb");
  CHECK(make_program("interleaved-zb", 2, 4, {}, {.chunks = 3, .group = 2}).view().stages() == 6);
}
