// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_checks.hpp"

#include <weft/schedule/gpipe.hpp>

#include <doctest/doctest.h>

using namespace weft::schedule;

TEST_CASE("gpipe prints the orders that others published, with their makespans and peaks") {
  policy_checks::published_orders<gpipe>();
}

TEST_CASE("gpipe: the formulas of its comment hold for every shape") { policy_checks::formulas<gpipe>(); }

TEST_CASE("gpipe says which rule is broken and what would be legal") { policy_checks::rules<gpipe>(); }
