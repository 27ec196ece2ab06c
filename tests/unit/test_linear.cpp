// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/linear.hpp>

#include <doctest/doctest.h>

using namespace layer_fixture;
using weft::model::linear;

TEST_CASE("linear: gradients agree with finite differences, and accumulate") {
  constexpr int rows = 5;
  constexpr int inputs = 7;
  constexpr int outputs = 19;  // more than the sixteen lanes, and odd
  tensor x("x", rows * inputs, 1);
  tensor w("w", inputs * outputs, 2);
  tensor b("b", outputs, 3);
  tensor residual("residual", rows * outputs, 4);
  auto const probe = normal_numbers(rows * outputs, 5);
  caller<double> call({1, rows});
  for (bool const with_residual : {false, true}) {
    CAPTURE(with_residual);
    auto const loss = [&] {
      std::vector<double> y(rows * outputs, -7.0);
      if (with_residual)
        linear::forward_residual(call.context(), rows, inputs, outputs, x.data(), w.data(), b.data(), residual.data(),
                                 y.data());
      else
        linear::forward(call.context(), rows, inputs, outputs, x.data(), w.data(), b.data(), y.data());
      return dot(probe, y);
    };
    std::fill(w.gradient.begin(), w.gradient.end(), 0.0);
    std::fill(b.gradient.begin(), b.gradient.end(), 0.0);
    linear::backward_input(call.context(), rows, inputs, outputs, probe.data(), w.data(), x.gradient.data());
    linear::backward_weight(call.context(), rows, inputs, outputs, x.data(), probe.data(), w.gradient.data(),
                            b.gradient.data());
    residual.gradient = probe;
    if (with_residual)
      check_gradients(loss, {&x, &w, &b, &residual});
    else
      check_gradients(loss, {&x, &w, &b});
  }
  auto const once = w.gradient;
  linear::backward_weight(call.context(), rows, inputs, outputs, x.data(), probe.data(), w.gradient.data(),
                          b.gradient.data());
  for (std::size_t index = 0; index < once.size(); ++index)
    CHECK(w.gradient[index] == doctest::Approx(2.0 * once[index]));
}

TEST_CASE("linear: no rows, no work") {
  double parameter = 3.0;
  double gradient = 5.0;
  caller<double> call({0, 4});
  linear::forward(call.context(), 0, 1, 1, &parameter, &parameter, &parameter, &parameter);
  linear::backward_weight(call.context(), 0, 1, 1, &parameter, &parameter, &gradient, &gradient);
  CHECK(parameter == 3.0);
  CHECK(gradient == 5.0);
}
