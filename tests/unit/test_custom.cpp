// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/custom.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

namespace {

using order = custom<
    "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n"
    "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n">;
// Three stages on two ranks, the backward of one in halves, posts that are written anew.
using uneven = custom<
    "0F0,0SEND_F0,2F0,2I0,0F1,2F1,2I1,2W0,2W1,0B0,0B1\n"
    "1F0,1F1,1B0,1B1\n">;
using two_ways = custom<
    "0F0,1F1,1B1,0B0\n"
    "0F1,1F0,1B0,0B1\n",
    2>;
static_assert(order::chunks == 1 && !order::splits_backward && order::work.backward);
static_assert(uneven::stages(2) == 3 && uneven::splits_backward);
static_assert(play(write_table<order>(2, 4).view()).playable());

}  // namespace

TEST_CASE("custom: a table given as text is the table that others write") {
  CHECK(write_csv(write_table<order>(2, 4).view()) == write_csv(write_table<one_f_one_b>(2, 4).view()));
  policy_checks::formulas_of(order{}, 2, 4);
  CHECK(order::peak_activations(0, 2, 4) == 2);
  CHECK(order::idle(2, 4, 1.0, 2.0) == 3.0);
  CHECK(write_csv(write_table<uneven>(2, 2).view()) == "0F0,2F0,2I0,0F1,2F1,2I1,2W0,2W1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK(std::string(make_program<two_ways>(2, 2).view().name) == "custom");
  CHECK(make_program<two_ways>(2, 2).view().graph.copies == 2);
}

TEST_CASE("custom: ranks may have differently many stages, the first of them on any rank") {
  auto const made = make_program<uneven>(2, 2);
  auto const& graph = made.view().graph;
  CHECK(graph.rank_of(0) == 0);
  CHECK(graph.rank_of(1) == 1);
  CHECK(graph.rank_of(2) == 0);
  using mirrored = custom<"1F0,1B0\n0F0,0B0\n">;
  CHECK(make_program<mirrored>(2, 1).view().graph.rank_of(0) == 1);
}

TEST_CASE("custom: the same text when the program starts gives the same program, or says what is wrong") {
  std::string const text = "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n";
  CHECK(write_csv(make_custom_program(text).view()) == write_csv(make_program<order>(2, 4).view()));
  CHECK(std::string(make_custom_program(text).view().name) == "custom");
  CHECK_THROWS_WITH_AS(make_custom_program("0F0,0Q0\n"), doctest::Contains("row 1, column 2, cell \"0Q0\""),
                       weft::error);
  CHECK_THROWS_WITH_AS(make_custom_program("0F0,0B0\n1B0,1F0\n"),
                       doctest::Contains("weft::schedule::custom: rank 1, action 0 (1B0): comes before its forward"),
                       weft::error);
  if (std::string const folder = published::folder(); !folder.empty()) {
    auto const made = make_custom_program(published::read_file(folder + "/torchtitan_custom_p2_v2_m8.csv"));
    CHECK(made.view().stages() == 4);
    CHECK(made.view().micro_batches == 8);
  }
}

TEST_CASE("custom says which rule is broken and what would be legal") {
  CHECK(order::check(3, 4) == validity{rule::needs_the_tables_ranks, 3, 2});
  CHECK(order::check(2, 5) == validity{rule::needs_the_tables_micro_batches, 5, 4});
  CHECK_THROWS_WITH_AS(
      make_program<order>(2, 5),
      "weft::schedule::custom: a table of one's own names its micro-batches; use as many micro_batches "
      "as it has (asked for 5, nearest legal 4)",
      weft::error);
}
