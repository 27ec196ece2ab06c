// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/gelu.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::gelu;

TEST_CASE("gelu: the tanh form, in float and double") {
  for (double const a : {-40.0, -5.0, -1.5, -0.1, 0.0, 0.3, 2.0, 30.0}) {
    double const u = std::sqrt(2.0 / 3.14159265358979323846) * (a + 0.044715 * a * a * a);
    double const wanted = 0.5 * a * (1.0 + std::tanh(u));
    CHECK(weft::model::kernels::gelu_value<double>(a).value == doctest::Approx(wanted).epsilon(1e-12));
    CHECK(weft::model::kernels::gelu_value<float>(static_cast<float>(a)).value ==
          doctest::Approx(wanted).epsilon(2e-6));
    CHECK(std::isfinite(weft::model::kernels::gelu_value<float>(static_cast<float>(a)).slope));
  }
}

TEST_CASE("gelu: gradients against finite differences; backward makes forward's bits again") {
  constexpr int rows = 3;
  constexpr int columns = 21;
  tensor x("x", rows * columns, 1, 1.5);
  tensor b("b", columns, 2);
  auto const probe = normal_numbers(rows * columns, 3);
  caller<double> call({1, rows});
  std::vector<double> hidden;
  std::vector<double> y(rows * columns);
  auto const loss = [&] {
    hidden = x.value;
    gelu::forward(call.context(), rows, columns, b.data(), hidden.data(), y.data());
    return dot(probe, y);
  };
  loss();
  auto const forward = y;
  std::vector<double> again(y.size());
  x.gradient = probe;
  gelu::backward(call.context(), rows, columns, hidden.data(), x.gradient.data(), again.data());
  CHECK(again == forward);
  for (std::size_t index = 0; index < x.gradient.size(); ++index) b.gradient[index % columns] += x.gradient[index];
  check_gradients(loss, {&x, &b});
}
