// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/attention.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace layer_fixture;
using weft::model::attention;
using weft::model::attention_shape;

namespace {

/// Attention as the formula says, in long double.
std::vector<double> by_formula(std::vector<double> const& qkv, int sequences, int length, attention_shape shape) {
  int const heads = static_cast<int>(shape.heads);
  int const kv_heads = static_cast<int>(shape.kv_heads);
  int const head_width = static_cast<int>(shape.head_width);
  int const width = heads * head_width;
  std::vector<double> out(static_cast<std::size_t>(sequences * length * width), 0.0);
  auto const at = [&](int sequence, int token, int head, int column) {
    int const row = (heads + 2 * kv_heads) * head_width;
    return static_cast<long double>(
        qkv[static_cast<std::size_t>((sequence * length + token) * row + head * head_width + column)]);
  };
  for (int s = 0; s < sequences; ++s)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < length; ++i) {
        std::vector<long double> weight(static_cast<std::size_t>(i) + 1);
        long double sum = 0.0L;
        for (int j = 0; j <= i; ++j) {
          long double score = 0.0L;
          for (int c = 0; c < head_width; ++c) score += at(s, i, h, c) * at(s, j, heads + h * kv_heads / heads, c);
          weight[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<long double>(head_width)));
          sum += weight[static_cast<std::size_t>(j)];
        }
        for (int c = 0; c < head_width; ++c) {
          long double mixed = 0.0L;
          for (int j = 0; j <= i; ++j)
            mixed += weight[static_cast<std::size_t>(j)] / sum * at(s, j, heads + kv_heads + h * kv_heads / heads, c);
          out[static_cast<std::size_t>((s * length + i) * width + h * head_width + c)] = static_cast<double>(mixed);
        }
      }
  return out;
}

}  // namespace

TEST_CASE("attention: equals the formula, over one tile and several, last one partial, keys shared or not") {
  for (attention_shape const shape : {attention_shape{3, 3, 4}, {6, 2, 3}, {4, 1, 2}, {4, 2, 1}})
    for (int const length : {1, 7, 64, 65, 150}) {
      CAPTURE(length);
      CAPTURE(shape.kv_heads);
      constexpr int sequences = 2;
      auto const qkv = normal_numbers(static_cast<std::size_t>(sequences * length * shape.row()), 1);
      std::vector<double> mixed(static_cast<std::size_t>(sequences * length * shape.width()));
      std::vector<double> logsum(static_cast<std::size_t>(sequences * length * shape.heads));
      caller<double> call({sequences, length});
      attention::forward(call.context(), shape, qkv.data(), mixed.data(), logsum.data(), 0);
      auto const wanted = by_formula(qkv, sequences, length, shape);
      double worst = 0.0;
      for (std::size_t index = 0; index < wanted.size(); ++index)
        worst = std::max(worst, std::abs(mixed[index] - wanted[index]));
      CHECK(worst < 1e-13);
    }
}

TEST_CASE("attention: gradients against finite differences, with dropout and shared keys too") {
  struct problem {
    int sequences;
    int length;
    attention_shape shape;
    double rate;
  };
  for (problem const& is : {problem{2, 1, {2, 2, 3}, 0.0},
                            {2, 1, {2, 2, 3}, 0.3},
                            {2, 5, {2, 2, 3}, 0.0},
                            {2, 5, {2, 2, 3}, 0.3},
                            {1, 70, {2, 2, 1}, 0.0},
                            {2, 1, {3, 1, 2}, 0.0},
                            {2, 5, {4, 2, 2}, 0.0},
                            {2, 5, {3, 1, 1}, 0.3},
                            {1, 70, {2, 1, 1}, 0.0}}) {
    CAPTURE(is.length);
    CAPTURE(is.shape.heads);
    CAPTURE(is.shape.kv_heads);
    CAPTURE(is.rate);
    tensor qkv("qkv", is.sequences * is.length * is.shape.row(), 1);
    auto const probe = normal_numbers(static_cast<std::size_t>(is.sequences * is.length * is.shape.width()), 2);
    std::vector<double> mixed(probe.size());
    std::vector<double> logsum(static_cast<std::size_t>(is.sequences * is.length * is.shape.heads));
    caller<double> call({is.sequences, is.length});
    call.dropout = {is.rate, 3, 4, 5, 6};
    auto const loss = [&] {
      attention::forward(call.context(), is.shape, qkv.data(), mixed.data(), logsum.data(), 0);
      return dot(probe, mixed);
    };
    loss();
    attention::backward(call.context(), is.shape, qkv.data(), logsum.data(), probe.data(), qkv.gradient.data(), 0);
    check_gradients(loss, {&qkv});
  }
}

TEST_CASE("attention: large scores do not overflow, and later keys do not matter") {
  constexpr int length = 9;
  constexpr int width = 4;
  auto qkv = normal_numbers<float>(length * 3 * width, 1, 200.0);
  std::vector<float> mixed(length * width);
  std::vector<float> again(length * width);
  std::vector<float> logsum(length * 2);
  caller<float> call({1, length});
  attention::forward(call.context(), {2, 2, width / 2}, qkv.data(), mixed.data(), logsum.data(), 0);
  for (float const value : mixed) CHECK(std::isfinite(value));
  for (std::size_t index = 5 * 3 * width; index < qkv.size(); ++index) qkv[index] += 1.0F;
  attention::forward(call.context(), {2, 2, width / 2}, qkv.data(), again.data(), logsum.data(), 0);
  CHECK(std::equal(mixed.begin(), mixed.begin() + 5 * width, again.begin()));
  CHECK(mixed != again);
}

TEST_CASE("attention: a sequence's bits do not depend on the others of the micro-batch") {
  constexpr int length = 70;
  constexpr int width = 8;
  auto const qkv = normal_numbers<float>(3 * length * 3 * width, 1);
  std::vector<float> all(3 * length * width);
  std::vector<float> alone(length * width);
  std::vector<float> logsum(3 * length * 2);
  caller<float> call({3, length});
  attention::forward(call.context(), {2, 2, width / 2}, qkv.data(), all.data(), logsum.data(), 0);
  call.size = {1, length};
  attention::forward(call.context(), {2, 2, width / 2}, qkv.data() + 2 * length * 3 * width, alone.data(),
                     logsum.data(), 0);
  CHECK(std::equal(alone.begin(), alone.end(), all.begin() + 2 * length * width));
}
