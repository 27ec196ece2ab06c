// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A stage small enough to check by hand: L element-wise layers y = tanh(w x + b) over n numbers, cut over stages, with
// loss sum(y^2) / 2 at the end. Skip edges add their tensor to the stage's input.

#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/schedule/program_view.hpp>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

namespace toy {

struct layer_range {
  int first;
  int last;
};

using space = Kokkos::DefaultHostExecutionSpace;
using context = weft::stage_context<space>;
using views = weft::boundary_views<space::memory_space>;

struct stage {
  int layers = 6;
  std::int64_t width = 5;
  std::vector<layer_range> ranges;                  // per stage
  std::function<std::int64_t(int)> used_width;      // per micro-batch: how many of `width` elements it has
  std::function<void(char, context const&)> probe;  // called at the start of every pass
  std::vector<double> weight, bias, weight_gradient, bias_gradient, losses;

  stage(int stages, int micro_batches, int layer_count = 6) : layers(layer_count) {
    for (int index = 0; index < stages; ++index)
      ranges.push_back({index * layers / stages, (index + 1) * layers / stages});
    weight.resize(static_cast<std::size_t>(layers));
    bias.resize(static_cast<std::size_t>(layers));
    for (int layer = 0; layer < layers; ++layer) {
      weight[static_cast<std::size_t>(layer)] = 0.7 + 0.1 * layer;
      bias[static_cast<std::size_t>(layer)] = 0.01 * layer - 0.02;
    }
    weight_gradient.assign(static_cast<std::size_t>(layers), 0.0);
    bias_gradient.assign(static_cast<std::size_t>(layers), 0.0);
    losses.assign(static_cast<std::size_t>(micro_batches), 0.0);
  }

  weft::boundary boundary(weft::topology::edge const&) const {
    return weft::boundary().add(weft::scalar::f64, width).add(weft::scalar::i32, 2, false);
  }

  void prepare(int which, weft::schedule::slot_counts const& slots) {
    kept_.resize(ranges.size());
    contexts_.resize(ranges.size());
    auto const range = ranges[static_cast<std::size_t>(which)];
    auto const size = static_cast<std::size_t>((range.last - range.first + 1) * width);
    auto grow = [&](auto& store, int count) {
      auto& mine = store[static_cast<std::size_t>(which)];
      if (static_cast<int>(mine.size()) < count) mine.resize(static_cast<std::size_t>(count));
      for (auto& each : mine) each.resize(size);
    };
    grow(kept_, slots.activation);
    grow(contexts_, std::max(1, slots.weight_context));
  }

  std::int64_t width_of(int micro_batch) const { return used_width ? used_width(micro_batch) : width; }

  static double sample(int micro_batch, std::int64_t element) {
    return std::sin(1.0 + 3.7 * micro_batch + 0.9 * static_cast<double>(element));
  }

  void forward(context& where, views const& in, views& out) {
    if (probe) probe('F', where);
    auto const range = ranges[static_cast<std::size_t>(where.stage())];
    std::int64_t const n = width_of(where.micro_batch());
    double* const kept = slot(kept_, where.stage(), where.slot());
    for (std::int64_t element = 0; element < n; ++element) kept[element] = 0.0;
    if (in.empty())
      for (std::int64_t element = 0; element < n; ++element) kept[element] = sample(where.micro_batch(), element);
    for (int edge = 0; edge < in.size(); ++edge) {
      if (in[edge].elements(0) != n) throw std::runtime_error("toy: wrong number of elements");
      auto const x = in[edge].view<double>(0);
      auto const label = in[edge].view<std::int32_t>(1);
      if (label(0) != where.micro_batch() || label(1) != where.micro_batch() + 1)
        throw std::runtime_error("toy: another micro-batch's label");
      for (std::int64_t element = 0; element < n; ++element) kept[element] += x(static_cast<std::size_t>(element));
    }
    for (int layer = range.first; layer < range.last; ++layer) {
      double const* const x = kept + (layer - range.first) * width;
      double* const y = kept + (layer - range.first + 1) * width;
      for (std::int64_t element = 0; element < n; ++element)
        y[element] =
            std::tanh(weight[static_cast<std::size_t>(layer)] * x[element] + bias[static_cast<std::size_t>(layer)]);
    }
    double const* const y = kept + (range.last - range.first) * width;
    for (int edge = 0; edge < out.size(); ++edge) {
      out[edge].set_elements(0, n);
      auto const target = out[edge].view<double>(0);
      for (std::int64_t element = 0; element < n; ++element) target(static_cast<std::size_t>(element)) = y[element];
      auto const label = out[edge].view<std::int32_t>(1);
      label(0) = where.micro_batch();
      label(1) = where.micro_batch() + 1;
    }
    if (out.empty()) {
      double loss = 0.0;
      for (std::int64_t element = 0; element < n; ++element) loss += 0.5 * y[element] * y[element];
      losses[static_cast<std::size_t>(where.micro_batch())] = loss;
    }
  }

  void backward_input(context& where, views const& in, views const& gradient_out, views& gradient_in) {
    if (probe) probe('I', where);
    auto const range = ranges[static_cast<std::size_t>(where.stage())];
    std::int64_t const n = width_of(where.micro_batch());
    double const* const kept = slot(kept_, where.stage(), where.slot());
    double* const passed = slot(contexts_, where.stage(), where.weight_slot());
    double* const top = passed + (range.last - range.first) * width;
    double const* const y = kept + (range.last - range.first) * width;
    for (std::int64_t element = 0; element < n; ++element) top[element] = gradient_out.empty() ? y[element] : 0.0;
    for (int edge = 0; edge < gradient_out.size(); ++edge) {
      if (gradient_out[edge].elements(0) != n) throw std::runtime_error("toy: wrong number of gradient elements");
      auto const g = gradient_out[edge].view<double>(0);
      for (std::int64_t element = 0; element < n; ++element) top[element] += g(static_cast<std::size_t>(element));
    }
    for (int layer = range.last - 1; layer >= range.first; --layer) {
      double const* const above = passed + (layer - range.first + 1) * width;
      double* const below = passed + (layer - range.first) * width;
      double const* const result = kept + (layer - range.first + 1) * width;
      for (std::int64_t element = 0; element < n; ++element)
        below[element] =
            above[element] * (1.0 - result[element] * result[element]) * weight[static_cast<std::size_t>(layer)];
    }
    for (int edge = 0; edge < gradient_in.size(); ++edge) {
      if (gradient_in[edge].count() != 1) throw std::runtime_error("toy: integers have no gradient");
      gradient_in[edge].set_elements(0, n);
      auto const g = gradient_in[edge].view<double>(0);
      for (std::int64_t element = 0; element < n; ++element) g(static_cast<std::size_t>(element)) = passed[element];
    }
    (void)in;
  }

  void backward_weight(context& where, views const&, views const&) {
    if (probe) probe('W', where);
    auto const range = ranges[static_cast<std::size_t>(where.stage())];
    std::int64_t const n = width_of(where.micro_batch());
    double const* const kept = slot(kept_, where.stage(), where.slot());
    double const* const passed = slot(contexts_, where.stage(), where.weight_slot());
    for (int layer = range.first; layer < range.last; ++layer) {
      double const* const above = passed + (layer - range.first + 1) * width;
      double const* const x = kept + (layer - range.first) * width;
      double const* const y = kept + (layer - range.first + 1) * width;
      for (std::int64_t element = 0; element < n; ++element) {
        double const g = above[element] * (1.0 - y[element] * y[element]);
        weight_gradient[static_cast<std::size_t>(layer)] += g * x[element];
        bias_gradient[static_cast<std::size_t>(layer)] += g;
      }
    }
  }

 private:
  using storage = std::vector<std::vector<std::vector<double>>>;  // stage, slot
  static double* slot(storage& store, int stage, int index) {
    return store.at(static_cast<std::size_t>(stage)).at(static_cast<std::size_t>(index)).data();
  }
  storage kept_;
  storage contexts_;
};

/// Half of the interface: backward in one piece.
struct whole_stage : stage {
  using stage::stage;
  void backward(context& where, views const& in, views const& gradient_out, views& gradient_in) {
    stage::backward_input(where, in, gradient_out, gradient_in);
    stage::backward_weight(where, in, gradient_out);
  }
  void backward_input() = delete;
  void backward_weight() = delete;
};

/// Forward alone.
struct forward_stage {
  weft::boundary boundary(weft::topology::edge const&) const { return weft::boundary().add(weft::scalar::f64, 1); }
  void prepare(int, weft::schedule::slot_counts const&) {}
  void forward(context&, views const&, views&) {}
};

}  // namespace toy
