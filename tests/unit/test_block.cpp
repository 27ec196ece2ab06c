// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/model/block.hpp>
#include <weft/model/head.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

using namespace layer_fixture;

namespace {

constexpr weft::model::gpt_size size{.vocabulary = 13, .positions = 8, .width = 6, .heads = 3, .blocks = 2};
using block = weft::model::block<size>;
using head = weft::model::head<size>;

std::vector<std::unique_ptr<tensor>> parameters_of(
    std::vector<weft::parameters::parameter_descriptor> const& described) {
  std::vector<std::unique_ptr<tensor>> made;
  for (auto const& each : described)
    made.push_back(
        std::make_unique<tensor>(each.name, each.elements(), 10 + static_cast<std::uint32_t>(made.size()), 0.5));
  return made;
}

std::vector<tensor*> pointers(std::vector<std::unique_ptr<tensor>> const& made, tensor& first) {
  std::vector<tensor*> result{&first};
  for (auto const& each : made) result.push_back(each.get());
  return result;
}

}  // namespace

TEST_CASE("block: gradients against finite differences, with and without dropout") {
  for (double const rate : {0.0, 0.2}) {
    CAPTURE(rate);
    weft::model::extents const shape{2, 5};
    tensor x("x", 10 * 6, 1);
    auto const made = parameters_of(block::describe(1));
    REQUIRE(made.size() == 12);
    auto all = pointers(made, x);
    caller<double> call(shape);
    call.set_parameters({all.begin() + 1, all.end()});
    call.dropout = {rate, 1, 2, 3, 4};
    auto const probe = normal_numbers(10 * 6, 2);
    std::vector<double> out(60);
    std::vector<std::byte> saved(block::saved_bytes<double>(shape));
    std::vector<std::byte> kept(block::weight_context_bytes<double>(shape));
    REQUIRE(block::workspace_bytes<double>(shape) <= call.scratch.size());
    auto const loss = [&] {
      block::forward(call.context(), x.data(), out.data(), saved.data());
      return dot(probe, out);
    };
    loss();
    block::backward_input(call.context(), x.data(), probe.data(), x.gradient.data(), saved.data(), kept.data());
    block::backward_weight(call.context(), x.data(), probe.data(), saved.data(), kept.data());
    // The key bias has no influence: softmax does not see a number that is added to all scores of a row.
    tensor& bias = *made[3];
    for (std::size_t c = 6; c < 12; ++c) CHECK(std::abs(bias.gradient[c]) < 1e-12);
    check_gradients(loss, all);
  }
}

TEST_CASE("block: stays inside the memory that it asks for") {
  weft::model::extents const shape{2, 7};
  auto const made = parameters_of(block::describe(0));
  tensor x("x", 14 * 6, 1);
  auto all = pointers(made, x);
  std::size_t const workspace = block::workspace_bytes<double>(shape);
  caller<double> call(shape, workspace + 64);
  call.set_parameters({all.begin() + 1, all.end()});
  call.dropout = {0.2, 1, 2, 3, 4};
  std::vector<std::byte> saved(block::saved_bytes<double>(shape) + 64);
  std::vector<std::byte> kept(block::weight_context_bytes<double>(shape) + 64);
  for (auto* const memory : {&call.scratch, &saved, &kept})
    std::fill(memory->end() - 64, memory->end(), std::byte{0x5A});
  std::vector<double> out(84);
  block::forward(call.context(), x.data(), out.data(), saved.data());
  block::backward_input(call.context(), x.data(), out.data(), x.gradient.data(), saved.data(), kept.data());
  block::backward_weight(call.context(), x.data(), out.data(), saved.data(), kept.data());
  for (auto const* const memory : {&call.scratch, &saved, &kept})
    CHECK(std::all_of(memory->end() - 64, memory->end(), [](std::byte each) { return each == std::byte{0x5A}; }));
}

TEST_CASE("head: gradients against finite differences, ignored targets") {
  weft::model::extents const shape{2, 3};
  tensor x("x", 6 * 6, 1);
  auto const made = parameters_of(head::describe(0));
  REQUIRE(made.size() == 3);
  auto all = pointers(made, x);
  caller<double> call(shape);
  call.set_parameters({all.begin() + 1, all.end()});
  call.targets = {3, -1, 12, 0, 5, -1};
  call.gradient_scale = 0.25;
  std::vector<std::byte> saved(head::saved_bytes<double>(shape));
  std::vector<std::byte> kept(head::weight_context_bytes<double>(shape));
  auto const loss = [&] {
    head::forward<double, space>(call.context(), x.data(), nullptr, saved.data());
    return call.loss_sum * 0.25;
  };
  loss();
  double const* const logits = head::logits<double>(saved.data(), shape);
  CHECK(std::isfinite(logits[6 * 13 - 1]));
  head::backward_input<double, space>(call.context(), x.data(), nullptr, x.gradient.data(), saved.data(), kept.data());
  head::backward_weight<double, space>(call.context(), x.data(), nullptr, saved.data(), kept.data());
  check_gradients(loss, all);
}
