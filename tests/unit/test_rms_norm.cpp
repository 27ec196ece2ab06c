// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/rms_norm.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::rms_norm;

TEST_CASE("rms_norm: values, and gradients against finite differences") {
  for (int const columns : {1, 5, 16, 37}) {
    CAPTURE(columns);
    constexpr int rows = 3;
    constexpr double epsilon = 1e-2;  // large enough to be seen
    tensor x("x", rows * columns, 1);
    tensor w("w", columns, 2);
    tensor residual("residual", rows * columns, 4);
    auto const probe = normal_numbers(static_cast<std::size_t>(rows * columns), 5);
    std::vector<double> rstd(rows);
    std::vector<double> y(static_cast<std::size_t>(rows * columns));
    caller<double> call({1, rows});
    auto const loss = [&] {
      rms_norm::forward(call.context(), rows, columns, epsilon, x.data(), w.data(), y.data(), rstd.data());
      return dot(probe, y) + dot(probe, residual.value);
    };
    loss();
    for (std::size_t row = 0; row < rows; ++row) {
      std::size_t const first = row * static_cast<std::size_t>(columns);
      double squares = 0.0;
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) squares += std::pow(x.value[first + c], 2);
      double const scale = 1.0 / std::sqrt(squares / columns + epsilon);
      CHECK(rstd[row] == doctest::Approx(scale).epsilon(1e-13));
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
        CHECK(y[first + c] == doctest::Approx(x.value[first + c] * scale * w.value[c]).epsilon(1e-13));
    }
    auto const forward = y;
    std::vector<double> again(y.size());
    rms_norm::backward_input(call.context(), rows, columns, x.data(), w.data(), rstd.data(), probe.data(), probe.data(),
                             x.gradient.data(), again.data());
    CHECK(again == forward);  // the same bits as F made
    auto const with_residual = x.gradient;
    rms_norm::backward_input<double, space>(call.context(), rows, columns, x.data(), w.data(), rstd.data(),
                                            probe.data(), nullptr, x.gradient.data(), again.data());
    for (std::size_t index = 0; index < with_residual.size(); ++index)
      CHECK(with_residual[index] == x.gradient[index] + probe[index]);
    rms_norm::backward_weight(call.context(), rows, columns, x.data(), rstd.data(), probe.data(), w.gradient.data());
    residual.gradient = probe;
    check_gradients(loss, {&x, &w, &residual});
  }
}

TEST_CASE("rms_norm: a row's bits do not depend on its neighbours or its place") {
  constexpr int columns = 37;
  auto const x = normal_numbers<float>(4 * columns, 1);
  auto const w = normal_numbers<float>(columns, 2);
  std::vector<float> all(4 * columns);
  std::vector<float> alone(columns + 3);
  std::vector<float> rstd(4);
  caller<float> call({1, 4});
  rms_norm::forward(call.context(), 4, columns, 1e-6, x.data(), w.data(), all.data(), rstd.data());
  std::vector<float> moved(columns + 3);
  std::copy(x.begin() + 2 * columns, x.begin() + 3 * columns, moved.begin() + 3);
  rms_norm::forward(call.context(), 1, columns, 1e-6, moved.data() + 3, w.data(), alone.data() + 3, rstd.data());
  for (std::size_t c = 0; c < columns; ++c) CHECK(alone[c + 3] == all[2 * columns + c]);
}
