// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

// What the tests of layers share: tensors with a gradient beside them, a context to call a layer with, and the
// comparison of gradients with finite differences.

#include <weft/execution/random.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/pipeline/stage_context.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace layer_fixture {

using space = Kokkos::DefaultHostExecutionSpace;

/// Normal numbers, the same on every machine.
template <class Real = double>
std::vector<Real> normal_numbers(std::size_t count, std::uint32_t salt, double deviation = 1.0) {
  std::vector<Real> result(count);
  for (std::size_t index = 0; index < count; ++index) {
    auto const drawn =
        weft::random::philox({{static_cast<std::uint32_t>(index), salt, 0, 0}}, weft::random::make_key(99));
    result[index] = static_cast<Real>(deviation * weft::random::normal(drawn.word[0], drawn.word[1]).first);
  }
  return result;
}

struct tensor {
  std::string name;
  std::vector<double> value;
  std::vector<double> gradient;

  tensor(std::string called, std::int64_t elements, std::uint32_t salt, double deviation = 0.7)
      : name(std::move(called)),
        value(normal_numbers(static_cast<std::size_t>(elements), salt, deviation)),
        gradient(value.size(), 0.0) {}

  double* data() { return value.data(); }
};

inline double dot(std::vector<double> const& left, std::vector<double> const& right) {
  double sum = 0.0;
  for (std::size_t index = 0; index < left.size(); ++index) sum += left[index] * right[index];
  return sum;
}

/// Everything that a layer's context refers to.
template <class Real>
struct caller {
  space instance;
  weft::stage_context<space> stage{instance, nullptr};
  weft::blas::handle<space> blas{instance};
  weft::model::extents size;
  std::vector<std::byte> scratch;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  weft::model::layer_parameters<Real> parameters;
  double loss_sum = 0.0;
  double gradient_scale = 1.0;
  weft::model::dropout_keys dropout;
  weft::model::call_values now;

  explicit caller(weft::model::extents of, std::size_t workspace = 1 << 20) : size(of), scratch(workspace) {}

  weft::model::layer_context<Real, space> context() {
    now = weft::model::call_values::make(dropout, gradient_scale);
    return {.stage = stage,
            .blas = blas,
            .size = size,
            .parameters = parameters,
            .workspace = weft::model::arena(scratch.data()),
            .inputs = inputs.data(),
            .targets = targets.data(),
            .loss_sum = &loss_sum,
            .now = &now,
            .dropout = dropout};
  }

  void set_parameters(std::vector<tensor*> const& tensors) {
    for (std::size_t index = 0; index < tensors.size(); ++index) {
      parameters.value[index] = tensors[index]->value.data();
      parameters.gradient[index] = tensors[index]->gradient.data();
    }
  }
};

/// Derivative of loss(t) at 0 by the five-point stencil: error of order step^4.
inline double slope(std::function<double(double)> const& loss, double step) {
  return (8.0 * (loss(step) - loss(-step)) - (loss(2.0 * step) - loss(-2.0 * step))) / (12.0 * step);
}

/// Compares `gradient` of every tensor with differences of `loss`, which reads the tensors' values: element by element
/// to 1e-6 of the largest element, and along five random directions in all tensors at once to 1e-6 of the derivative.
/// `step` is how far to go in a direction: the stencil's error grows with its fourth power and with how many numbers
/// move at once.
inline void check_gradients(std::function<double()> const& loss, std::vector<tensor*> const& tensors,
                            double step = 2e-4) {
  for (tensor* const each : tensors) {
    double largest = 0.0;
    double worst = 0.0;
    for (std::size_t index = 0; index < each->value.size(); ++index) {
      double const at = each->value[index];
      double const wanted = slope(
          [&](double offset) {
            each->value[index] = at + offset;
            return loss();
          },
          1e-3);
      each->value[index] = at;
      largest = std::max(largest, std::abs(wanted));
      worst = std::max(worst, std::abs(wanted - each->gradient[index]));
    }
    CAPTURE(each->name);
    CHECK(largest > 1e-4);  // a gradient that is zero everywhere would prove nothing
    CHECK(worst <= 1e-6 * largest);
  }
  for (std::uint32_t direction = 0; direction < 5; ++direction) {
    std::vector<std::vector<double>> ways;
    std::vector<std::vector<double>> starts;
    double found = 0.0;
    for (std::size_t index = 0; index < tensors.size(); ++index) {
      ways.push_back(
          normal_numbers(tensors[index]->value.size(), 1000 + 100 * direction + static_cast<std::uint32_t>(index)));
      starts.push_back(tensors[index]->value);
      found += dot(ways.back(), tensors[index]->gradient);
    }
    auto const go = [&](double offset) {
      for (std::size_t index = 0; index < tensors.size(); ++index)
        for (std::size_t element = 0; element < ways[index].size(); ++element)
          tensors[index]->value[element] = starts[index][element] + offset * ways[index][element];
    };
    double const wanted = slope(
        [&](double offset) {
          go(offset);
          return loss();
        },
        step);
    go(0.0);
    CAPTURE(direction);
    CHECK(std::abs(wanted - found) <= 1e-6 * std::abs(wanted));
  }
}

}  // namespace layer_fixture
