// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/train/adamw.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using view = Kokkos::View<double*, Kokkos::HostSpace>;
using values = weft::train::adamw_values<double>;

}  // namespace

TEST_CASE("adamw: three steps agree with the formulas written out") {
  weft::train::adamw const options{.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1};
  view w("w", 2), m("m", 2), v("v", 2), g("g", 2), next_w("w2", 2), next_m("m2", 2), next_v("v2", 2);
  w(0) = 1.0;
  w(1) = -2.0;
  double expected[2] = {1.0, -2.0};
  double mean[2] = {0.0, 0.0};
  double square[2] = {0.0, 0.0};
  weft::train::adamw_value_slots<double, space> slots(2);
  for (int step = 1; step <= 3; ++step) {
    double const scale = step == 2 ? 0.5 : 1.0;
    bool const decays = step != 3;
    for (int i = 0; i < 2; ++i) {
      g(i) = 0.3 * step - i;
      double const grad = scale * g(i);
      mean[i] = 0.9 * mean[i] + 0.1 * grad;
      square[i] = 0.99 * square[i] + 0.01 * grad * grad;
      double const unbiased_mean = mean[i] / (1.0 - std::pow(0.9, step));
      double const unbiased_square = square[i] / (1.0 - std::pow(0.99, step));
      expected[i] -= 1e-2 * (unbiased_mean / (std::sqrt(unbiased_square) + 1e-8) + (decays ? 0.1 : 0.0) * expected[i]);
    }
    slots.set(space{}, 1, values::make(options, 1e-2, step, scale));
    weft::train::adamw_step(space{}, options, slots.at(1), decays, w, m, v, g, next_w, next_m, next_v, next_w);
    Kokkos::fence();
    for (int i = 0; i < 2; ++i) {
      CHECK(next_w(i) == doctest::Approx(expected[i]).epsilon(1e-13));
      CHECK(next_m(i) == doctest::Approx(mean[i]).epsilon(1e-13));
      CHECK(next_v(i) == doctest::Approx(square[i]).epsilon(1e-13));
    }
    Kokkos::deep_copy(w, next_w);
    Kokkos::deep_copy(m, next_m);
    Kokkos::deep_copy(v, next_v);
  }
}

TEST_CASE("adamw: the current state stays as it was until it is swapped") {
  view w("w", 1), m("m", 1), v("v", 1), g("g", 1), next_w("w2", 1), next_m("m2", 1), next_v("v2", 1);
  w(0) = 3.0;
  g(0) = 1.0;
  weft::train::adamw_value_slots<double, space> slots;
  slots.set(space{}, 0, values::make({}, 1e-3, 1, 1.0));
  weft::train::adamw_step(space{}, {}, slots.at(0), true, w, m, v, g, next_w, next_m, next_v, next_w);
  Kokkos::fence();
  CHECK(w(0) == 3.0);
  CHECK(m(0) == 0.0);
  CHECK(v(0) == 0.0);
  CHECK(next_w(0) < 3.0);
}
