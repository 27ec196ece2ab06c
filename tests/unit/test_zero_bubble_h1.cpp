// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/zero_bubble_h1.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace weft::schedule;

TEST_CASE("zero_bubble_h1 prints the orders that others published, with their makespans and peaks") {
  policy_checks::published_orders<zero_bubble_h1>();
}

TEST_CASE("zero_bubble_h1: the formulas of its comment hold for every shape") {
  policy_checks::formulas<zero_bubble_h1>();
}

TEST_CASE("zero_bubble_h1 says which rule is broken and what would be legal") {
  policy_checks::rules<zero_bubble_h1>();
}

TEST_CASE("zero_bubble_h1: idle time whichever pass is the shortest, and weight contexts") {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int micro_batches : {1, 2, 3, 4, 5, 7, 8, 9, 13, 24}) {
      CAPTURE(ranks);
      CAPTURE(micro_batches);
      auto const table = write_table<zero_bubble_h1>(ranks, micro_batches);
      for (auto const& [forward, input, weight] :
           {std::array{1.0, 1.0, 1.0}, {2.0, 1.0, 3.0}, {1.5, 5.0, 2.0}, {1.5, 2.0, 5.0}, {3.0, 2.0, 0.5}}) {
        auto const time = cost(table.view(), {.every = {forward, input, weight}});
        CHECK(time.idle_most == zero_bubble_h1::idle(ranks, micro_batches, forward, input, weight));
        if (micro_batches >= ranks && weight <= std::min(forward, input))
          CHECK(time.idle_most == (ranks - 1) * (forward + input - weight));
      }
      auto const lowered = make_program<zero_bubble_h1>(ranks, micro_batches);
      for (int rank = 0; rank < ranks; ++rank) {
        auto const& slots = lowered.view().slots[rank];  // one stage a rank, in order
        CHECK(slots.weight_context == zero_bubble_h1::peak_weight_contexts(rank, ranks, micro_batches));
        CHECK(slots.activation == zero_bubble_h1::peak_activations(rank, ranks, micro_batches));
      }
      // Receives stand at the row's start, as many as there are slots, or right behind the W that frees their slot.
      for (int rank = 0; rank < ranks; ++rank) {
        auto const row = lowered.view().row(rank);
        auto const& slots = lowered.view().slots[rank];
        int first = 0;
        while (first < row.size && traits_of(row[first].what).is_post) ++first;
        CHECK(first == slots.receive_forward + slots.receive_backward);
        for (int index = first; index < row.size; ++index) {
          bool const is_receive = row[index].what == op::receive_forward || row[index].what == op::receive_backward;
          if (!is_receive) continue;
          auto const before = row[index - 1].what;
          CHECK((before == op::backward_weight || before == op::receive_forward));
        }
      }
      // With recompute F keeps its input alone, and R's slot lives from I to W.
      auto const again = make_program<zero_bubble_h1>(ranks, micro_batches, {.recompute = true});
      for (int rank = 0; rank < ranks; ++rank) {
        auto const& slots = again.view().slots[rank];
        CHECK(slots.activation == zero_bubble_h1::peak_weight_contexts(rank, ranks, micro_batches));
      }
    }
}

TEST_CASE("zero_bubble_h1 with a hop time: four hops for each rank but one, however many micro-batches") {
  for (int ranks : {2, 3, 4, 8})
    for (int cycles : {1, 2, 3}) {
      double const hop = 1.0 / 64;
      auto const table = write_table<zero_bubble_h1>(ranks, cycles * ranks);
      std::vector<rank_time> times(static_cast<std::size_t>(ranks));
      cost(table.view(), {.hop = hop}, nullptr, times.data());
      double longest = 0.0;
      for (auto const& each : times) longest = std::max(longest, each.last - each.first);
      CAPTURE(ranks);
      CAPTURE(cycles);
      int const hops = 4 * (ranks - 1) - (cycles == 1 ? 2 : 0);
      CHECK(longest == doctest::Approx(3.0 * cycles * ranks + (ranks - 1) + hops * hop));
    }
}

TEST_CASE("zero_bubble_h1: faster than 1F1B by two thirds of its bubble, at 4 ranks and 8 micro-batches by 33 / 27") {
  CHECK(cost(write_table<one_f_one_b>(4, 8).view()).makespan == 33.0);
  CHECK(cost(write_table<zero_bubble_h1>(4, 8).view()).makespan == 27.0);
}

TEST_CASE("zero_bubble_h1 by any of its names") {
  for (char const* const name :
       {"zb-h1", "zb_h1", "ZB-H1", "zbh1", "ZB1P", "zero_bubble_h1", "zero-bubble", "Zero Bubble H1"})
    CHECK(std::string(make_program(name, 2, 2).view().name) == "zb-h1");
  CHECK(canonical_name("1F1B") == "1f1b");
  CHECK(canonical_name("forward-only") == "forward_only");
  CHECK(canonical_name("zigzag").empty());
  CHECK(canonical_name("").empty());
}
