// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

using weft::random::philox;
using weft::random::words;

// The known answers that Random123 publishes for philox4x32-10 (kat_vectors).
static_assert(philox({{0, 0, 0, 0}}, {0, 0}) == words{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {0xffffffff, 0xffffffff}) ==
              words{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0}) ==
              words{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
// FNV-1a, as its authors publish it.
static_assert(weft::random::hash("") == 0xcbf29ce484222325ULL && weft::random::hash("a") == 0xaf63dc4c8601ec8cULL &&
              weft::random::hash("foobar") == 0x85944171f73967e8ULL);

TEST_CASE_TEMPLATE("random: uniform numbers never reach 0 or 1", Real, float, double) {
  CHECK(weft::random::uniform<Real>(0) > Real(0));
  CHECK(weft::random::uniform<Real>(0xffffffffU) < Real(1));
  CHECK(weft::random::uniform<Real>(0x80000000U) == doctest::Approx(0.5));
}

TEST_CASE("random: normal numbers have the moments of a normal distribution") {
  constexpr int count = 200000;
  double sums[5] = {};
  int far = 0;
  for (int index = 0; index < count; ++index) {
    words const drawn = philox({{static_cast<std::uint32_t>(index), 1, 2, 3}}, weft::random::make_key(11));
    auto const pair = weft::random::normal(drawn.word[0], drawn.word[1]);
    for (double const value : {pair.first, pair.second}) {
      for (int power = 1; power <= 4; ++power) sums[power] += std::pow(value, power);
      far += std::abs(value) > 2.0 ? 1 : 0;
    }
  }
  double const draws = 2.0 * count;
  CHECK(std::abs(sums[1] / draws) < 0.006);  // four standard errors each
  CHECK(std::abs(sums[2] / draws - 1.0) < 0.009);
  CHECK(std::abs(sums[3] / draws) < 0.025);
  CHECK(std::abs(sums[4] / draws - 3.0) < 0.07);
  CHECK(std::abs(far / draws - 0.0455) < 0.0014);
}
