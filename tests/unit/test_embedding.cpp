// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/embedding.hpp>

#include <doctest/doctest.h>

using namespace layer_fixture;

namespace {
using layer =
    weft::model::embedding<weft::model::gpt_size{.vocabulary = 9, .positions = 8, .width = 7, .heads = 1, .blocks = 1}>;
}

TEST_CASE("embedding: gradients of both tables against finite differences, with dropout too") {
  for (double const rate : {0.0, 0.2}) {
    CAPTURE(rate);
    tensor tokens("wte", 9 * 7, 1);
    tensor positions("wpe", 8 * 7, 2);
    caller<double> call({3, 5});
    call.inputs = {1, 2, 1, 1, 8, 0, 0, 3, 1, 4, 5, 5, 5, 5, 5};
    call.dropout = {rate, 1, 2, 3, 0};
    call.set_parameters({&tokens, &positions});
    auto const probe = normal_numbers(3 * 5 * 7, 3);
    std::vector<double> out(probe.size());
    auto const loss = [&] {
      layer::forward<double, space>(call.context(), nullptr, out.data(), nullptr);
      return dot(probe, out);
    };
    loss();
    layer::backward_weight<double, space>(call.context(), nullptr, probe.data(), nullptr, nullptr);
    check_gradients(loss, {&tokens, &positions});
    for (std::size_t c = 0; c < 7; ++c) {
      CHECK(tokens.gradient[6 * 7 + c] == 0.0);     // a token that does not occur
      CHECK(positions.gradient[5 * 7 + c] == 0.0);  // a position beyond the sequences
    }
  }
}

TEST_CASE("embedding: rows are added in the order of the tokens") {
  tensor tokens("wte", 9 * 7, 1);
  tensor positions("wpe", 8 * 7, 2);
  caller<float> call({1, 3});
  call.inputs = {2, 2, 2};
  std::vector<float> token_gradient(9 * 7, 0.0F);
  std::vector<float> position_gradient(8 * 7, 0.0F);
  call.parameters.gradient[0] = token_gradient.data();
  call.parameters.gradient[1] = position_gradient.data();
  std::vector<float> grad(3 * 7, 0.0F);
  grad[0] = 1.0F;
  grad[7] = 1e8F;
  grad[14] = -1e8F;  // (1 + 1e8) - 1e8 is 0 in float, any other order gives 1
  layer::backward_weight<float, space>(call.context(), nullptr, grad.data(), nullptr, nullptr);
  CHECK(token_gradient[2 * 7] == 0.0F);
}
