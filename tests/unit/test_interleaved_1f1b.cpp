// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/interleaved_1f1b.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft::schedule;

TEST_CASE("interleaved_1f1b prints the orders that others published") {
  auto const made = write_table<interleaved_1f1b<2>>(2, 4);
  policy_checks::same_order(made.view(),
                            "0F0,0F1,2F0,2F1,0F2,2B0,0F3,2B1,2F2,0B0,2F3,0B1,2B2,2B3,0B2,0B3\n"
                            "1F0,1F1,3F0,3B0,3F1,3B1,1F2,1B0,1F3,1B1,3F2,3B2,3F3,3B3,1B2,1B3\n");
  CHECK(cost(made.view()).makespan == 27.0);
  CHECK(schedule_support::peaks_of(made.view()) == "5 3");
  for (char const* schedule : {"interleaved", "interleaved_flex"})
    policy_checks::for_each_listed(schedule, [](auto const& row, std::string const& text) {
      auto const table = write_table(row.ranks, row.micro_batches, interleaved_1f1b_values{row.chunks, 0});
      policy_checks::same_order(table.view(), text);
      CHECK(cost(table.view()).makespan == row.makespan);
      CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
    });
}

TEST_CASE("interleaved_1f1b with groups of 3 of 5 micro-batches, as Megatron's own example has it") {
  auto const table = write_table<interleaved_1f1b<2, 3>>(2, 5);
  std::string chunks;
  std::string forwards;
  for (action const& cell : table.view().row(0)) {
    bool const forward = cell.what == op::forward;
    chunks += (forward ? " " : " -") + std::to_string(cell.stage / 2 + 1);
    if (forward) forwards += " " + std::to_string(cell.micro_batch);
  }
  CHECK(chunks == " 1 1 1 2 2 2 -2 1 -2 1 -2 2 -1 2 -1 -1 -2 -2 -1 -1");
  CHECK(forwards == " 0 1 2 0 1 2 3 4 3 4");
  CHECK(interleaved_1f1b_values{2, 3}.warm_up(0, 2, 5) == 5);
}

TEST_CASE("interleaved_1f1b: the formulas of its comment hold for every shape and every legal group") {
  for (int chunks = 1; chunks <= 4; ++chunks) {
    CAPTURE(chunks);
    for (int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 16})
      for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 32})
        policy_checks::formulas_of(interleaved_1f1b_values{chunks, 0}, ranks, micro_batches);
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (int micro_batches = 1; micro_batches <= 9; ++micro_batches)
        for (int group = 1; group <= micro_batches; ++group) {
          CAPTURE(group);
          interleaved_1f1b_values const policy{chunks, group};
          if (policy.check(ranks, micro_batches).legal()) policy_checks::formulas_of(policy, ranks, micro_batches);
        }
  }
}

TEST_CASE("interleaved_1f1b: with one chunk it is 1F1B with its warm-up doubled") {
  for (int ranks : {1, 3, 4})
    for (int micro_batches : {1, 4, 9})
      CHECK(interleaved_1f1b<1>::peak_activations(0, ranks, micro_batches) == std::min(2 * ranks - 1, micro_batches));
}

TEST_CASE("interleaved_1f1b with a hop time: 2 p v - 2 hops, however many micro-batches") {
  for (int ranks : {2, 4, 8})
    for (int chunks : {2, 4})
      for (int cycles : {2, 3}) {
        CAPTURE(ranks);
        CAPTURE(chunks);
        double const hop = 1.0 / 64;
        auto const table = write_table(ranks, cycles * ranks, interleaved_1f1b_values{chunks, 0});
        CHECK(policy_checks::longest_span(table.view(), {.hop = hop}) ==
              doctest::Approx(3.0 * cycles * ranks * chunks + 3.0 * (ranks - 1) + (2 * ranks * chunks - 2) * hop));
      }
}

TEST_CASE("interleaved_1f1b says which rule is broken and what would be legal") {
  policy_checks::rules<interleaved_1f1b<2>>();
  CHECK(interleaved_1f1b<0>::check(4, 8) == validity{rule::needs_a_chunk, 0, 1});
  CHECK(interleaved_1f1b<-3>::check(4, 8) == validity{rule::needs_a_chunk, -3, 1});
  CHECK(interleaved_1f1b<70000>::check(4, 8) == validity{rule::too_many_stages, 70000, 16383});
  CHECK(interleaved_1f1b<20000>::check(4, 8) == validity{rule::too_many_stages, 4, 3});
  CHECK(interleaved_1f1b<2, 3>::check(4, 8) == validity{rule::group_fits, 3, 4});
  CHECK(interleaved_1f1b<2, 5>::check(4, 8) == validity{rule::group_fits, 5, 4});
  CHECK(interleaved_1f1b<2, 9>::check(4, 8) == validity{rule::group_fits, 9, 8});
  CHECK(interleaved_1f1b<2, -1>::check(4, 8) == validity{rule::group_fits, -1, 4});
  CHECK(interleaved_1f1b<2, 8>::check(4, 8).legal());
  CHECK(interleaved_1f1b<2, 3>::check(4, 3).legal());
  CHECK(interleaved_1f1b<2, 5>::check(4, 14).legal());
  // The default follows PyTorch's rule wherever that has an answer.
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int micro_batches = 1; micro_batches <= 40; ++micro_batches) {
      int const rounds = std::max(1, micro_batches / ranks);
      int const group = detail::group_size(ranks, micro_batches, 0);
      if (micro_batches % rounds == 0) CHECK(group == micro_batches / rounds);
      CHECK(interleaved_1f1b_values{2, group}.check(ranks, micro_batches).legal());
    }
}

TEST_CASE("interleaved_1f1b by any of its names, with chunks and groups") {
  for (char const* const name :
       {"interleaved-1f1b", "interleaved_1f1b", "Interleaved1F1B", "interleaved", "megatron"}) {
    auto const made = make_program(name, 2, 4, {}, {.chunks = 3, .group = 4});
    CHECK(std::string(made.view().name) == "interleaved-1f1b");
    CHECK(made.view().stages() == 6);
  }
  CHECK(make_program("interleaved", 2, 4).view().stages() == 4);
  CHECK_THROWS_WITH_AS(make_program("interleaved", 4, 8, {}, {.group = 5}),
                       doctest::Contains("weft::schedule::interleaved-1f1b: a group must have at least as many "
                                         "micro-batches as there are ranks"),
                       weft::error);
  CHECK_THROWS_WITH_AS(make_program("interleaved", 4, 8, {}, {.group = 5}),
                       doctest::Contains("(asked for 5, nearest legal 4)"), weft::error);
}
