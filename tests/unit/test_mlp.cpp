// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/mlp.hpp>

#include <doctest/doctest.h>

using namespace layer_fixture;
using weft::model::mlp;

TEST_CASE("mlp: gradients against finite differences, with and without dropout") {
  for (double const rate : {0.0, 0.25}) {
    CAPTURE(rate);
    constexpr int rows = 6;
    constexpr int width = 5;
    tensor x("x", rows * width, 1);
    tensor residual("residual", rows * width, 2);
    tensor w1("w1", width * 4 * width, 3);
    tensor b1("b1", 4 * width, 4);
    tensor w2("w2", 4 * width * width, 5);
    tensor b2("b2", width, 6);
    auto const probe = normal_numbers(rows * width, 7);
    std::vector<double> hidden(rows * 4 * width);
    std::vector<double> out(rows * width);
    std::vector<double> grad_hidden(hidden.size());
    std::vector<double> activated(hidden.size());
    caller<double> call({2, 3});
    call.dropout = {rate, 1, 2, 3, 4};
    call.set_parameters({&w1, &b1, &w2, &b2});
    auto const loss = [&] {
      mlp::forward(call.context(), width, 0, 2, x.data(), residual.data(), hidden.data(), out.data());
      return dot(probe, out);
    };
    loss();
    mlp::backward_input(call.context(), width, 0, 2, hidden.data(), probe.data(), x.gradient.data(), grad_hidden.data(),
                        activated.data());
    mlp::backward_weight(call.context(), width, 0, 2, x.data(), probe.data(), grad_hidden.data(), activated.data());
    residual.gradient = probe;
    check_gradients(loss, {&x, &residual, &w1, &b1, &w2, &b2});
  }
}
