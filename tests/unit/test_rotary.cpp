// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/rotary.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::rotary;

TEST_CASE("rotary: halves of a head are turned as the formula says, the rest of a row is left alone") {
  constexpr int length = 150;
  constexpr int head_width = 6;
  constexpr int heads = 2;  // of three in a row
  constexpr int row = 3 * head_width;
  for (double const theta : {10000.0, 7.0}) {
    auto const before = normal_numbers(2 * length * row, 1);
    auto rows = before;
    std::vector<double> turns(static_cast<std::size_t>(rotary::turns_elements({2, length}, head_width)));
    caller<double> call({2, length});
    rotary::make_turns(call.context(), head_width, theta, turns.data());
    rotary::forward(call.context(), row, heads, head_width, turns.data(), rows.data());
    double worst = 0.0;
    for (int token = 0; token < 2 * length; ++token)
      for (int head = 0; head < 3; ++head)
        for (int c = 0; c < head_width / 2; ++c) {
          auto const at = static_cast<std::size_t>(token * row + head * head_width + c);
          double const angle = head < heads ? (token % length) / std::pow(theta, 2.0 * c / head_width) : 0.0;
          double const x = before[at];
          double const y = before[at + head_width / 2];
          worst = std::max(worst, std::abs(rows[at] - (x * std::cos(angle) - y * std::sin(angle))));
          worst = std::max(worst, std::abs(rows[at + head_width / 2] - (y * std::cos(angle) + x * std::sin(angle))));
        }
    CHECK(worst < 1e-12);
    auto const turned = rows;
    rotary::backward(call.context(), row, heads, head_width, turns.data(), rows.data());  // a turn's inverse
    worst = 0.0;
    for (std::size_t index = 0; index < rows.size(); ++index)
      worst = std::max(worst, std::abs(rows[index] - before[index]));
    CHECK(worst < 1e-14);
    CHECK(turned != before);
    for (std::size_t token = 0; token < 2 * length; ++token)
      for (std::size_t c = 2 * head_width; c < row; ++c) CHECK(turned[token * row + c] == before[token * row + c]);
  }
}

TEST_CASE("rotary: gradients against finite differences, one token and one pair too") {
  struct problem {
    int length;
    int head_width;
  };
  for (problem const is : {problem{1, 2}, {1, 4}, {5, 2}, {4, 6}}) {
    CAPTURE(is.length);
    CAPTURE(is.head_width);
    int const row = 4 * is.head_width;
    tensor x("x", 2 * is.length * row, 1);
    auto const probe = normal_numbers(x.value.size(), 2);
    std::vector<double> turns(static_cast<std::size_t>(rotary::turns_elements({2, is.length}, is.head_width)));
    caller<double> call({2, is.length});
    rotary::make_turns(call.context(), is.head_width, 10000.0, turns.data());
    auto const loss = [&] {
      auto turned = x.value;
      rotary::forward(call.context(), row, 3, is.head_width, turns.data(), turned.data());
      return dot(probe, turned);
    };
    x.gradient = probe;
    rotary::backward(call.context(), row, 3, is.head_width, turns.data(), x.gradient.data());
    check_gradients(loss, {&x});
  }
}

TEST_CASE("rotary: a product of query and key depends on how far apart they are, not on where") {
  constexpr int length = 40;
  constexpr int head_width = 8;
  std::vector<double> rows;
  auto const one = normal_numbers(2 * head_width, 3);  // the same query and key everywhere
  for (int token = 0; token < length; ++token) rows.insert(rows.end(), one.begin(), one.end());
  std::vector<double> turns(length * head_width);
  caller<double> call({1, length});
  rotary::make_turns(call.context(), head_width, 100.0, turns.data());
  rotary::forward(call.context(), 2 * head_width, 2, head_width, turns.data(), rows.data());
  auto const product = [&](std::size_t query, std::size_t key) {
    double sum = 0.0;
    for (std::size_t c = 0; c < head_width; ++c)
      sum += rows[query * 2 * head_width + c] * rows[key * 2 * head_width + head_width + c];
    return sum;
  };
  for (std::size_t start = 0; start + 7 < length; ++start)
    CHECK(product(start + 7, start) == doctest::Approx(product(7, 0)).epsilon(1e-12));
  CHECK(std::abs(product(7, 0) - product(3, 0)) > 1e-3);
}
