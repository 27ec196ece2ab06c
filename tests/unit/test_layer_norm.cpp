// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/layer_norm.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::layer_norm;

TEST_CASE("layer_norm: values, and gradients against finite differences") {
  for (int const columns : {5, 16, 37}) {
    CAPTURE(columns);
    constexpr int rows = 3;
    tensor x("x", rows * columns, 1);
    tensor w("w", columns, 2);
    tensor b("b", columns, 3);
    tensor residual("residual", rows * columns, 4);
    auto const probe = normal_numbers(static_cast<std::size_t>(rows * columns), 5);
    std::vector<double> mean(rows);
    std::vector<double> rstd(rows);
    std::vector<double> y(static_cast<std::size_t>(rows * columns));
    caller<double> call({1, rows});
    auto const loss = [&] {
      layer_norm::forward(call.context(), rows, columns, x.data(), w.data(), b.data(), y.data(), mean.data(),
                          rstd.data());
      return dot(probe, y) + dot(probe, residual.value);
    };
    loss();
    double sum = 0.0;
    double squares = 0.0;
    for (int c = 0; c < columns; ++c) sum += x.value[static_cast<std::size_t>(c)];
    for (int c = 0; c < columns; ++c) squares += std::pow(x.value[static_cast<std::size_t>(c)] - sum / columns, 2);
    CHECK(mean[0] == doctest::Approx(sum / columns).epsilon(1e-13));
    CHECK(rstd[0] == doctest::Approx(1.0 / std::sqrt(squares / columns + 1e-5)).epsilon(1e-13));
    auto const forward = y;
    std::vector<double> again(y.size());
    layer_norm::backward_input(call.context(), rows, columns, x.data(), w.data(), b.data(), mean.data(), rstd.data(),
                               probe.data(), probe.data(), x.gradient.data(), again.data());
    CHECK(again == forward);  // the same bits as F made
    auto const with_residual = x.gradient;
    layer_norm::backward_input<double, space>(call.context(), rows, columns, x.data(), w.data(), b.data(), mean.data(),
                                              rstd.data(), probe.data(), nullptr, x.gradient.data(), again.data());
    for (std::size_t index = 0; index < with_residual.size(); ++index)
      CHECK(with_residual[index] == x.gradient[index] + probe[index]);
    layer_norm::backward_weight(call.context(), rows, columns, x.data(), mean.data(), rstd.data(), probe.data(),
                                w.gradient.data(), b.gradient.data());
    residual.gradient = probe;
    check_gradients(loss, {&x, &w, &b, &residual});
  }
}

TEST_CASE("layer_norm: a row's bits do not depend on its neighbours or its place") {
  constexpr int columns = 37;
  auto const x = normal_numbers<float>(4 * columns, 1);
  auto const w = normal_numbers<float>(columns, 2);
  std::vector<float> all(4 * columns);
  std::vector<float> alone(columns + 3);
  std::vector<float> stats(8);
  caller<float> call({1, 4});
  layer_norm::forward(call.context(), 4, columns, x.data(), w.data(), w.data(), all.data(), stats.data(),
                      stats.data() + 4);
  std::vector<float> moved(columns + 3);
  std::copy(x.begin() + 2 * columns, x.begin() + 3 * columns, moved.begin() + 3);
  layer_norm::forward(call.context(), 1, columns, moved.data() + 3, w.data(), w.data(), alone.data() + 3, stats.data(),
                      stats.data() + 4);
  for (std::size_t c = 0; c < columns; ++c) CHECK(alone[c + 3] == all[2 * columns + c]);
}
