// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/train/learning_rate.hpp>

#include <doctest/doctest.h>

TEST_CASE("learning rate: rises linearly, falls as half a cosine, stays at its floor") {
  weft::train::warmup_cosine const rate{1.0, 4, 14, 0.1};
  CHECK(rate(0) == doctest::Approx(0.25));
  CHECK(rate(3) == doctest::Approx(1.0));
  CHECK(rate(4) == doctest::Approx(1.0));
  CHECK(rate(9) == doctest::Approx(0.55));  // half-way
  CHECK(rate(14) == doctest::Approx(0.1));
  CHECK(rate(1000) == doctest::Approx(0.1));
  for (int step = 4; step < 14; ++step) CHECK(rate(step + 1) < rate(step));
  CHECK(weft::train::warmup_cosine{2.0, 2, 0, 0.1}(50) == 2.0);
}
