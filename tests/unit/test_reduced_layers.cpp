// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Layers in 16 bits beside the same layers in double: the same weights and inputs (those that 16 bits hold), and then
// outputs and gradients differ by no more than a few roundings to 16 bits.
#include "layer_fixture.hpp"

#include <weft/execution/reduced.hpp>
#include <weft/model/block.hpp>
#include <weft/model/head.hpp>
#include <weft/model/llama_block.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace layer_fixture;

namespace {

// More than one tile of queries, and no multiple of anything.
constexpr weft::model::extents shape{2, 70};
constexpr weft::model::gpt_size gpt{.vocabulary = 37, .positions = 80, .width = 12, .heads = 3, .blocks = 2};
constexpr weft::model::llama_size llm{
    .vocabulary = 37, .positions = 80, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 20, .blocks = 2};

template <class Real>
std::vector<Real> rounded(std::vector<double> const& from) {
  std::vector<Real> made;
  for (double const each : from) made.push_back(Real(static_cast<weft::execution::wide<Real>>(each)));
  return made;
}
template <class Real>
std::vector<double> as_double(std::vector<Real> const& from) {
  std::vector<double> made;
  for (Real const each : from) made.push_back(static_cast<double>(weft::execution::widen(each)));
  return made;
}

/// Everything that a layer gives: its output or loss, the gradients of its input and of each parameter.
struct found {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
  void add(std::string name, std::vector<double> value) {
    names.push_back(std::move(name));
    values.push_back(std::move(value));
  }
};

/// The layer with numbers of Real, from values that `Source` can hold.
template <class Layer, class Source, class Real>
found run(int width, double rate) {
  using sum = weft::execution::wide<Real>;
  auto const input = [&](std::size_t count, std::uint32_t salt, double deviation) {
    return rounded<Real>(as_double(rounded<Source>(normal_numbers(count, salt, deviation))));
  };
  auto const rows = static_cast<std::size_t>(shape.tokens());
  std::size_t const numbers = rows * static_cast<std::size_t>(width);
  caller<Real> call(shape);
  call.scratch.resize(Layer::template workspace_bytes<Real>(shape) + 64);
  std::fill(call.scratch.begin(), call.scratch.end(), std::byte{0xFF});
  call.dropout = {rate, 1, 2, 3, 4};
  for (std::size_t row = 0; row < rows; ++row)
    call.targets.push_back(row % 5 == 0 ? -1 : static_cast<std::int32_t>(row % 37));
  call.gradient_scale = 0.25;
  auto const described = Layer::describe(1);
  std::vector<std::vector<Real>> values;
  std::vector<std::vector<sum>> gradients;
  for (std::size_t index = 0; index < described.size(); ++index) {
    auto const count = static_cast<std::size_t>(described[index].elements());
    values.push_back(input(count, 10 + static_cast<std::uint32_t>(index), 0.3));
    gradients.emplace_back(count, sum(0));
  }
  for (std::size_t index = 0; index < described.size(); ++index) {
    call.parameters.value[index] = values[index].data();
    call.parameters.gradient[index] = gradients[index].data();
  }
  auto const x = input(numbers, 1, 1.0);
  auto const grad_out = input(numbers, 2, 1.0);
  std::vector<Real> out(numbers);
  std::vector<Real> grad_in(numbers);
  std::vector<std::byte> saved(Layer::template saved_bytes<Real>(shape));
  std::vector<std::byte> kept(Layer::template weight_context_bytes<Real>(shape));
  auto const context = [&] { return call.context(); };
  Layer::template forward<Real, space>(context(), x.data(), out.data(), saved.data());
  Layer::template backward_input<Real, space>(context(), x.data(), grad_out.data(), grad_in.data(), saved.data(),
                                              kept.data());
  // Twice: gradients are added to what is there.
  for (int time = 0; time < 2; ++time)
    Layer::template backward_weight<Real, space>(context(), x.data(), grad_out.data(), saved.data(), kept.data());
  found result;
  if (Layer::is_last)
    result.add("loss", {call.loss_sum});
  else
    result.add("output", as_double(out));
  result.add("gradient of the input", as_double(grad_in));
  for (std::size_t index = 0; index < described.size(); ++index)
    result.add(described[index].name, as_double(gradients[index]));
  for (std::size_t at = call.scratch.size() - 64; at < call.scratch.size(); ++at)
    CHECK(call.scratch[at] == std::byte{0xFF});
  return result;
}

double length_of(std::vector<double> const& of) { return std::sqrt(dot(of, of)); }

/// Relative distance in the mean square, of each tensor, is at most `bound`.
void compare(found const& narrow, found const& wide, double bound) {
  REQUIRE(narrow.names == wide.names);
  for (std::size_t index = 0; index < wide.values.size(); ++index) {
    std::vector<double> difference = narrow.values[index];
    for (std::size_t at = 0; at < difference.size(); ++at) difference[at] -= wide.values[index][at];
    double const distance = length_of(difference) / length_of(wide.values[index]);
    CAPTURE(wide.names[index]);
    CAPTURE(distance);
    CHECK(distance <= bound);
    CHECK(length_of(wide.values[index]) > 0.0);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("reduced layers: outputs and gradients are those of double but for a few roundings", Real,
                   weft::bfloat16, weft::float16) {
  double const epsilon = static_cast<double>(weft::number_facts<Real>::epsilon);
  for (double const rate : {0.0, 0.2}) {
    CAPTURE(rate);
    compare(run<weft::model::block<gpt>, Real, Real>(gpt.width, rate),
            run<weft::model::block<gpt>, Real, double>(gpt.width, rate), 2 * epsilon);
  }
  compare(run<weft::model::llama_block<llm>, Real, Real>(llm.width, 0.0),
          run<weft::model::llama_block<llm>, Real, double>(llm.width, 0.0), 2 * epsilon);
  compare(run<weft::model::head<gpt>, Real, Real>(gpt.width, 0.0),
          run<weft::model::head<gpt>, Real, double>(gpt.width, 0.0), 2 * epsilon);
}
