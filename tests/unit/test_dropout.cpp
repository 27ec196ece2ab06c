// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/dropout.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::dropout;

namespace {

std::vector<float> mask(weft::model::dropout_keys const& keys, weft::model::extents size, int columns, int site) {
  caller<float> call(size);
  call.dropout = keys;
  std::vector<float> const ones(static_cast<std::size_t>(size.tokens() * columns), 1.0F);
  std::vector<float> out(ones.size());
  dropout::apply<float, space>(call.context(), site, columns, ones.data(), nullptr, out.data());
  return out;
}

}  // namespace

TEST_CASE("dropout: drops the asked share and keeps the mean") {
  for (double const rate : {0.1, 0.5, 0.9}) {
    auto const factors = mask({rate, 1, 2, 0, 3}, {8, 50}, 100, 0);
    std::size_t dropped = 0;
    for (float const factor : factors) {
      dropped += factor == 0.0F ? 1 : 0;
      CHECK((factor == 0.0F || factor == doctest::Approx(1.0 / (1.0 - rate))));
    }
    double const share = static_cast<double>(dropped) / static_cast<double>(factors.size());
    CHECK(std::abs(share - rate) < 4.0 * std::sqrt(rate * (1.0 - rate) / static_cast<double>(factors.size())));
  }
}

TEST_CASE("dropout: the mask follows the global sample, not the micro-batch, and each key changes it") {
  weft::model::dropout_keys const keys{0.3, 1, 2, 0, 3};
  auto const whole = mask(keys, {6, 5}, 7, 1);  // 35 elements a sample: groups of four straddle rows
  auto later = keys;
  later.first_sample = 4;
  auto const part = mask(later, {2, 5}, 7, 1);
  CHECK(std::equal(part.begin(), part.end(), whole.begin() + 4 * 35));
  for (int which = 0; which < 5; ++which) {
    auto other = keys;
    if (which == 0) other.seed += 1;
    if (which == 1) other.step += 1;
    if (which == 2) other.step += std::uint64_t{1} << 32;
    if (which == 3) other.layer += 1;
    CHECK(mask(other, {6, 5}, 7, which == 4 ? 2 : 1) != whole);
  }
}

TEST_CASE("dropout: adds the residual, may work in place, and backward is the same mask") {
  caller<double> call({2, 3});
  call.dropout = {0.4, 1, 2, 3, 4};
  auto const x = normal_numbers(2 * 3 * 5, 1);
  auto const residual = normal_numbers(x.size(), 2);
  std::vector<double> plain(x.size());
  std::vector<double> sum(x.size());
  dropout::apply<double, space>(call.context(), 0, 5, x.data(), nullptr, plain.data());
  dropout::apply<double, space>(call.context(), 0, 5, x.data(), residual.data(), sum.data());
  auto in_place = x;
  dropout::apply<double, space>(call.context(), 0, 5, in_place.data(), nullptr, in_place.data());
  CHECK(in_place == plain);
  for (std::size_t index = 0; index < x.size(); ++index) CHECK(sum[index] == residual[index] + plain[index]);
  weft::model::arena scratch(call.scratch.data());
  auto const made = call.context();
  double const* const masked = dropout::backward(made, 0, 5, x.data(), scratch);
  CHECK(std::equal(plain.begin(), plain.end(), masked));
  call.dropout.rate = 0.0;
  auto const off = call.context();
  CHECK(dropout::backward(off, 0, 5, x.data(), scratch) == x.data());
}
