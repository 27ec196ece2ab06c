// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/breadth_first.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

namespace {
using upwards = breadth_first_values<backward_order::ascending>;
using downwards = breadth_first_values<backward_order::descending>;
}  // namespace

TEST_CASE("breadth_first prints the orders that others published, upwards and downwards") {
  policy_checks::same_order(write_table<breadth_first<2>>(2, 2).view(),
                            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1\n");
  policy_checks::same_order(write_table<looped_bfs<2>>(2, 2).view(),
                            "0F0,0F1,2F0,2F1,2B1,2B0,0B1,0B0\n1F0,1F1,3F0,3F1,3B1,3B0,1B1,1B0\n");
  auto const compare = [](auto const& policy, auto const& row, std::string const& text) {
    auto const table = write_table(row.ranks, row.micro_batches, policy);
    policy_checks::same_order(table.view(), text);
    CHECK(cost(table.view()).makespan == row.makespan);
    CHECK(schedule_support::peaks_of(table.view()) == row.peaks);
  };
  policy_checks::for_each_listed("breadth_first", [&](auto const& row, std::string const& text) {
    compare(upwards{row.chunks, 0}, row, text);
  });
  policy_checks::for_each_listed("looped_bfs", [&](auto const& row, std::string const& text) {
    compare(downwards{row.chunks, 0}, row, text);
  });
}

TEST_CASE("breadth_first: the formulas of its comment hold for every shape, order and group") {
  for (int chunks = 1; chunks <= 4; ++chunks)
    for (int ranks : {1, 2, 3, 4, 5, 8, 16})
      for (int micro_batches : {1, 2, 3, 5, 8, 13})
        for (int group : {0, 1, 2, 3, 8, 99}) {
          CAPTURE(chunks);
          CAPTURE(group);
          policy_checks::formulas_of(upwards{chunks, group}, ranks, micro_batches);
          bool const turns = group != 1;                          // a group of one has no direction
          bool const mixes = group > 1 && group < micro_batches;  // downwards within a group, groups upwards
          policy_checks::formulas_of(downwards{chunks, group}, ranks, micro_batches,
                                     mixes   ? accumulation::mixed
                                     : turns ? accumulation::descending
                                             : accumulation::ascending);
        }
}

TEST_CASE("breadth_first with one chunk is GPipe; depth first over groups keeps one group's activations") {
  CHECK(write_csv(write_table<breadth_first<1>>(3, 5).view()) == write_csv(write_table<gpipe>(3, 5).view()));
  CHECK(breadth_first<2, 2>::peak_activations(0, 2, 8) == 4);
  policy_checks::same_order(write_table<breadth_first<1, 2>>(1, 3).view(), "0F0,0F1,0B0,0B1,0F2,0B2\n");
}

TEST_CASE("breadth_first says which rule is broken and what would be legal") {
  policy_checks::rules<breadth_first<2>>();
  policy_checks::rules<looped_bfs<3>>();
  CHECK(breadth_first<0>::check(4, 8) == validity{rule::needs_a_chunk, 0, 1});
  CHECK(breadth_first<2, -1>::check(4, 8) == validity{rule::needs_a_group, -1, 1});
}

TEST_CASE("breadth_first by any of its names") {
  for (char const* const name : {"breadth-first", "BreadthFirst", "bfs"})
    CHECK(canonical_name(name) == "breadth-first");
  for (char const* const name : {"looped-bfs", "LoopedBFS"}) CHECK(canonical_name(name) == "looped-bfs");
  CHECK(make_program("bfs", 2, 4, {}, {.chunks = 4, .group = 2}).view().stages() == 8);
}
