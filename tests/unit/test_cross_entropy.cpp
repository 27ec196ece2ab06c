// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/cross_entropy.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::cross_entropy;

TEST_CASE("cross_entropy: the sum over counted rows, and its gradient") {
  for (int const columns : {3, 16, 50}) {
    CAPTURE(columns);
    constexpr int rows = 5;
    tensor logits("logits", rows * columns, 1, 2.0);
    caller<double> call({1, rows});
    call.targets = {0, -1, columns - 1, 1, -1};
    call.gradient_scale = 1.0 / 3.0;
    std::vector<double> logsum(rows);
    auto const loss = [&] {
      cross_entropy::forward(call.context(), rows, columns, logits.data(), logsum.data());
      return call.loss_sum / 3.0;
    };
    long double wanted = 0.0L;
    for (int row = 0; row < rows; ++row) {
      int const target = call.targets[static_cast<std::size_t>(row)];
      if (target < 0) continue;
      long double sum = 0.0L;
      for (int c = 0; c < columns; ++c)
        sum += std::exp(static_cast<long double>(logits.value[static_cast<std::size_t>(row * columns + c)]));
      wanted +=
          std::log(sum) - static_cast<long double>(logits.value[static_cast<std::size_t>(row * columns + target)]);
    }
    CHECK(loss() == doctest::Approx(static_cast<double>(wanted / 3.0L)).epsilon(1e-13));
    logits.gradient = logits.value;
    cross_entropy::backward(call.context(), rows, columns, logits.gradient.data(), logsum.data());
    for (int c = 0; c < columns; ++c) {
      CHECK(logits.gradient[static_cast<std::size_t>(columns + c)] == 0.0);
      CHECK(logits.gradient[static_cast<std::size_t>(4 * columns + c)] == 0.0);
    }
    check_gradients(loss, {&logits});
  }
}

TEST_CASE("cross_entropy: sure rows cost nothing, impossible ones a finite much, no rows nothing") {
  caller<float> call({1, 2});
  call.targets = {0, 1};
  std::vector<float> logits = {1000.0F, -1000.0F, 1000.0F, -1000.0F};
  std::vector<float> logsum(2);
  cross_entropy::forward(call.context(), 1, 2, logits.data(), logsum.data());
  CHECK(call.loss_sum == 0.0);
  cross_entropy::forward(call.context(), 2, 2, logits.data(), logsum.data());
  CHECK(call.loss_sum == doctest::Approx(2000.0));
  cross_entropy::forward(call.context(), 0, 2, logits.data(), logsum.data());
  CHECK(call.loss_sum == 0.0);
}
