// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("one_f_one_b prints the orders that others published, with their makespans and peaks") {
  policy_checks::published_orders<one_f_one_b>();
}

TEST_CASE("one_f_one_b: the formulas of its comment hold for every shape") { policy_checks::formulas<one_f_one_b>(); }

TEST_CASE("one_f_one_b says which rule is broken and what would be legal") { policy_checks::rules<one_f_one_b>(); }

TEST_CASE("one_f_one_b with a hop time: one round trip more every p micro-batches, as the papers measure it") {
  // Longest span minus the work: (p - 1)(F + B) + (2 (p - 1) m / p + 2 (p - 2)) hops, for m >= p and m % p == 0.
  for (int ranks : {2, 4, 8})
    for (int micro_batches : {8, 16, 24}) {
      double const hop = 1.0 / 64;
      auto const table = write_table<one_f_one_b>(ranks, micro_batches);
      std::vector<rank_time> times(static_cast<std::size_t>(ranks));
      cost(table.view(), {.hop = hop}, nullptr, times.data());
      double longest = 0.0;
      for (auto const& each : times) longest = std::max(longest, each.last - each.first);
      double const hops = 2.0 * (ranks - 1) * micro_batches / ranks + 2.0 * (ranks - 2);
      CAPTURE(ranks);
      CAPTURE(micro_batches);
      CHECK(longest == doctest::Approx(3.0 * micro_batches + 3.0 * (ranks - 1) + hops * hop));
    }
}
