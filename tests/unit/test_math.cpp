// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/math.hpp>
#include <weft/execution/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

/// Distance from the true value in units of the last place of the correctly rounded result.
template <class Real>
double ulps(Real found, long double wanted) {
  Real const nearest = std::abs(static_cast<Real>(wanted));
  Real const unit = std::max(nearest - std::nextafter(nearest, Real(0)), std::numeric_limits<Real>::denorm_min());
  return static_cast<double>(std::abs(static_cast<long double>(found) - wanted) / static_cast<long double>(unit));
}

struct range {
  double low;
  double high;
};

/// Numbers in (low, high), the same on every machine.
template <class Real>
std::vector<Real> numbers(int count, double low, double high) {
  std::vector<Real> result;
  for (int index = 0; index < count; ++index) {
    auto const drawn = weft::random::philox({{static_cast<std::uint32_t>(index), 0, 0, 0}}, {7, 0});
    result.push_back(static_cast<Real>(low + (high - low) * weft::random::uniform<double>(drawn.word[0])));
  }
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("math: exp is within 1.1 ulp from overflow down to the denormal numbers", Real, float, double) {
  bool const single = sizeof(Real) == 4;
  range const ends[] = {{-1.0, 1.0},
                        {-20.0, 0.0},
                        {single ? -103.0 : -744.0, single ? -86.0 : -707.0},
                        {single ? 80.0 : 700.0, single ? 88.7 : 709.7},
                        {-1e-6, 1e-6}};
  for (range const& each : ends) {
    double worst = 0.0;
    for (Real const x : numbers<Real>(40000, each.low, each.high))
      worst = std::max(worst, ulps(weft::math::exp(x), std::exp(static_cast<long double>(x))));
    CAPTURE(each.low);
    CHECK(worst < 1.1);
  }
}

TEST_CASE_TEMPLATE("math: tanh is within 2 ulp", Real, float, double) {
  range const ends[] = {{-0.7, 0.7}, {-10.0, 10.0}, {-1e-5, 1e-5}, {0.6, 0.65}};
  for (range const& each : ends) {
    double worst = 0.0;
    for (Real const x : numbers<Real>(40000, each.low, each.high))
      worst = std::max(worst, ulps(weft::math::tanh(x), std::tanh(static_cast<long double>(x))));
    CAPTURE(each.low);
    CHECK(worst < 2.0);
  }
}

TEST_CASE_TEMPLATE("math: what is not finite", Real, float, double) {
  Real const infinity = std::numeric_limits<Real>::infinity();
  Real const nan = std::numeric_limits<Real>::quiet_NaN();
  CHECK(weft::math::exp(infinity) == infinity);
  CHECK(weft::math::exp(Real(1000)) == infinity);
  CHECK(weft::math::exp(-infinity) == Real(0));
  CHECK(weft::math::exp(Real(0)) == Real(1));
  CHECK(std::isnan(weft::math::exp(nan)));
  CHECK(weft::math::tanh(infinity) == Real(1));
  CHECK(weft::math::tanh(-infinity) == Real(-1));
  CHECK(std::isnan(weft::math::tanh(nan)));
  CHECK(weft::math::sigmoid(-infinity) == Real(0));
  CHECK(weft::math::sigmoid(infinity) == Real(1));
  CHECK(weft::math::rsqrt(Real(4)) == Real(0.5));
}

TEST_CASE_TEMPLATE("math: a vector body and its tail give the same bits", Real, float, double) {
  auto const x = numbers<Real>(67, -12.0, 12.0);
  for (std::size_t count = 1; count <= x.size(); ++count) {
    std::vector<Real> exps(count);
    std::vector<Real> tanhs(count);
    for (std::size_t index = 0; index < count; ++index) exps[index] = weft::math::exp(x[index]);
    for (std::size_t index = 0; index < count; ++index) tanhs[index] = weft::math::tanh(x[index]);
    for (std::size_t index = 0; index < count; ++index) {
      Real const volatile alone = x[index];
      REQUIRE(exps[index] == weft::math::exp(Real(alone)));
      REQUIRE(tanhs[index] == weft::math::tanh(Real(alone)));
    }
  }
}
