// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/projection.hpp>
#include <weft/model/swiglu.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::projection;
using weft::model::swiglu;

TEST_CASE("projection: into columns of wider rows, gradients against finite differences") {
  constexpr int rows = 4;
  constexpr int inputs = 3;
  constexpr int outputs = 5;
  constexpr int leading = 9;
  tensor x("x", rows * inputs, 1);
  tensor w("w", outputs * inputs, 2);
  tensor residual("residual", rows * outputs, 3);
  auto const probe = normal_numbers(rows * leading, 4);
  std::vector<double> wide(rows * leading, 7.0);
  std::vector<double> narrow(rows * outputs);
  caller<double> call({1, rows});
  auto const loss = [&] {
    projection::forward(call.context(), rows, inputs, outputs, x.data(), w.data(), 0.0, wide.data() + 2, leading);
    projection::forward_residual(call.context(), rows, inputs, outputs, x.data(), w.data(), residual.data(),
                                 narrow.data());
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < outputs; ++c)
        sum += probe[r * leading + 2 + c] * (wide[r * leading + 2 + c] + 0.5 * narrow[r * outputs + c]);
    return sum;
  };
  loss();
  CHECK(wide[0] == 7.0);
  CHECK(wide[1] == 7.0);
  CHECK(wide[7] == 7.0);
  double first = 0.0;
  for (std::size_t c = 0; c < inputs; ++c) first += x.value[inputs + c] * w.value[2 * inputs + c];
  CHECK(wide[leading + 2 + 2] == doctest::Approx(first).epsilon(1e-14));  // row 1, output 2
  CHECK(narrow[outputs + 2] == doctest::Approx(first + residual.value[outputs + 2]).epsilon(1e-14));
  std::vector<double> half(rows * outputs);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < outputs; ++c) half[r * outputs + c] = 0.5 * probe[r * leading + 2 + c];
  projection::backward_input(call.context(), rows, inputs, outputs, probe.data() + 2, leading, w.data(), 0.0,
                             x.gradient.data());
  projection::backward_input(call.context(), rows, inputs, outputs, half.data(), outputs, w.data(), 1.0,
                             x.gradient.data());
  projection::backward_weight(call.context(), rows, inputs, outputs, x.data(), probe.data() + 2, leading,
                              w.gradient.data());
  projection::backward_weight(call.context(), rows, inputs, outputs, x.data(), half.data(), outputs, w.gradient.data());
  residual.gradient = half;
  check_gradients(loss, {&x, &w, &residual});
}

TEST_CASE("swiglu: values, and gradients against finite differences") {
  constexpr int rows = 6;
  constexpr int width = 5;
  constexpr int hidden = 7;
  tensor x("x", rows * width, 1);
  tensor residual("residual", rows * width, 2);
  tensor gate_weight("gate", hidden * width, 3);
  tensor up_weight("up", hidden * width, 4);
  tensor down_weight("down", width * hidden, 5);
  auto const probe = normal_numbers(rows * width, 7);
  std::vector<double> gate(rows * hidden);
  std::vector<double> up(rows * hidden);
  std::vector<double> out(rows * width);
  std::vector<double> grad_gate(gate.size());
  std::vector<double> grad_up(gate.size());
  std::vector<double> activated(gate.size());
  caller<double> call({2, 3});
  call.set_parameters({&gate_weight, &up_weight, &down_weight});
  auto const loss = [&] {
    swiglu::forward(call.context(), width, hidden, 0, x.data(), residual.data(), gate.data(), up.data(), out.data());
    return dot(probe, out);
  };
  loss();
  double wanted = residual.value[2 * width + 3];  // row 2, column 3
  for (std::size_t h = 0; h < hidden; ++h) {
    double g = 0.0;
    double u = 0.0;
    for (std::size_t c = 0; c < width; ++c) {
      g += x.value[2 * width + c] * gate_weight.value[h * width + c];
      u += x.value[2 * width + c] * up_weight.value[h * width + c];
    }
    wanted += g / (1.0 + std::exp(-g)) * u * down_weight.value[3 * hidden + h];
  }
  CHECK(out[2 * width + 3] == doctest::Approx(wanted).epsilon(1e-13));
  swiglu::backward_input(call.context(), width, hidden, 0, gate.data(), up.data(), probe.data(), x.gradient.data(),
                         grad_gate.data(), grad_up.data(), activated.data());
  swiglu::backward_weight(call.context(), width, hidden, 0, x.data(), probe.data(), grad_gate.data(), grad_up.data(),
                          activated.data());
  residual.gradient = probe;
  check_gradients(loss, {&x, &residual, &gate_weight, &up_weight, &down_weight});
}

TEST_CASE("swiglu: far from zero the gate is shut or wide open, never NaN") {
  constexpr int columns = 4;
  std::vector<float> const gate{-200.0F, 200.0F, -88.0F, 0.0F};
  std::vector<float> const up{3.0F, 3.0F, 3.0F, 3.0F};
  std::vector<float> out(columns);
  std::vector<float> again(columns, 1.0F);
  std::vector<float> grad_gate(columns);
  std::vector<float> grad_up(columns);
  auto const cut = weft::execution::cut_row<space>(columns);
  weft::execution::for_each(space(), 1,
                            weft::model::kernels::gated_silu<float>{gate.data(), up.data(), out.data(), cut});
  weft::execution::for_each(space(), 1,
                            weft::model::kernels::gated_silu_backward<float>{gate.data(), up.data(), again.data(),
                                                                             grad_gate.data(), grad_up.data(), cut});
  CHECK(std::abs(out[0]) == 0.0F);
  CHECK(out[1] == 600.0F);
  CHECK(std::abs(out[2]) < 1e-30F);
  CHECK(out[3] == 0.0F);
  CHECK(again == out);
  CHECK(grad_gate == std::vector<float>{grad_gate[0], 3.0F, grad_gate[2], 1.5F});
  CHECK(std::abs(grad_gate[0]) == 0.0F);
  CHECK(grad_up[1] == 200.0F);
}
