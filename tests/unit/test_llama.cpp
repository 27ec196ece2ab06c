// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/concepts/pipeline_stage.hpp>
#include <weft/concepts/plannable_model.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/plan/memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

using namespace layer_fixture;
using weft::model::extents;
using weft::model::llama;
using weft::model::llama_size;

namespace {

template <class Model>
using stage = weft::model::model_stage<Model, float, space>;
using nano = llama<weft::model::llama_nano>;
using views = weft::boundary_views<space::memory_space>;

static_assert(weft::plannable_model<nano, extents>);
static_assert(weft::pipeline_stage<stage<nano>, weft::stage_context<space>, views>);
static_assert(weft::split_backward_stage<stage<nano>, weft::stage_context<space>, views>);

// Sizes, FLOPs and bytes are constants.
static_assert(nano::layer_count == 6);
static_assert(llama<weft::model::llama_160m>::parameter_count() == 162417408);
static_assert(nano::parameter_count(0) == 256 * 128 && nano::parameter_count(5) == 257 * 128);
static_assert(nano::parameter_count(1) == 2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 384 + 2 * 128);
static_assert(nano::flops(1, {2, 64}) ==
              2LL * 128 * (2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 384) + 4LL * 128 * 128 * 65 / 2);
static_assert(nano::flops(5, {2, 64}) == 2LL * 128 * 128 * 256);
static_assert(nano::boundary_elements({2, 64}) == 2 * 64 * 128);
static_assert(nano::activation_bytes<double>(1, {2, 64}) > 1.9 * nano::activation_bytes<float>(1, {2, 64}));
static_assert(nano::activation_bytes<float>(0, {2, 64}) == 2 * 64 * 128 * 4);
static_assert(nano::weight_context_bytes(0, {2, 64}) == 0);
static_assert(weft::model::llama_nano.epsilon() == 1e-6 && llama_size{.epsilon_digits = 5}.epsilon() == 1e-5);

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

template <llama_size Size>
void check_block(extents shape) {
  using block = weft::model::llama_block<Size>;
  CAPTURE(Size.kv_heads);
  CAPTURE(shape.sequence_length);
  tensor x("x", shape.tokens() * Size.width, 1);
  auto const made = parameters_of(block::describe(1));
  REQUIRE(made.size() == 9);
  auto all = pointers(made, x);
  caller<double> call(shape);
  call.set_parameters({all.begin() + 1, all.end()});
  auto const probe = normal_numbers(x.value.size(), 2);
  std::vector<double> out(x.value.size());
  std::vector<std::byte> saved(block::template saved_bytes<double>(shape));
  std::vector<std::byte> kept(block::template weight_context_bytes<double>(shape));
  REQUIRE(block::template workspace_bytes<double>(shape) <= call.scratch.size());
  auto const loss = [&] {
    block::forward(call.context(), x.data(), out.data(), saved.data());
    return dot(probe, out);
  };
  loss();
  block::backward_input(call.context(), x.data(), probe.data(), x.gradient.data(), saved.data(), kept.data());
  block::backward_weight(call.context(), x.data(), probe.data(), saved.data(), kept.data());
  if (shape.sequence_length == 1) {
    // One key: its probability is 1 whatever query and key are.
    auto const& name = [&](std::size_t index) { return made[index]->name; };
    REQUIRE(name(1).ends_with("q_proj.weight"));
    for (std::size_t index : {std::size_t{1}, std::size_t{2}})
      for (double const each : made[index]->gradient) CHECK(std::abs(each) < 1e-12);
    all.erase(all.begin() + 2, all.begin() + 4);
  }
  check_gradients(loss, all);
}

}  // namespace

TEST_CASE("llama: a block's gradients against finite differences, keys shared by none, some and all heads") {
  check_block<llama_size{.width = 8, .heads = 2, .kv_heads = 2, .hidden = 5, .theta = 50}>({2, 5});
  check_block<llama_size{.width = 8, .heads = 4, .kv_heads = 2, .hidden = 5, .theta = 50}>({2, 5});
  check_block<llama_size{.width = 12, .heads = 3, .kv_heads = 1, .hidden = 7, .theta = 50}>({1, 6});
  check_block<llama_size{.width = 8, .heads = 2, .kv_heads = 1, .hidden = 3, .theta = 50}>({3, 1});
}

TEST_CASE("llama: a block stays inside the memory that it asks for") {
  constexpr llama_size wide{.width = 8, .heads = 4, .kv_heads = 2, .hidden = 50};  // the MLP needs most
  constexpr llama_size tall{.width = 8, .heads = 4, .kv_heads = 1, .hidden = 3};   // attention does
  auto const check = [](auto size) {
    constexpr llama_size sizes = decltype(size)::value;
    using block = weft::model::llama_block<sizes>;
    extents const shape{2, 70};
    auto const made = parameters_of(block::describe(0));
    tensor x("x", shape.tokens() * sizes.width, 1);
    auto all = pointers(made, x);
    std::size_t const workspace = block::template workspace_bytes<double>(shape);
    caller<double> call(shape, workspace + 64);
    call.set_parameters({all.begin() + 1, all.end()});
    std::vector<std::byte> saved(block::template saved_bytes<double>(shape) + 64);
    std::vector<std::byte> kept(block::template weight_context_bytes<double>(shape) + 64);
    for (auto* const memory : {&call.scratch, &saved, &kept})
      std::fill(memory->end() - 64, memory->end(), std::byte{0x5A});
    std::vector<double> out(x.value.size());
    block::forward(call.context(), x.data(), out.data(), saved.data());
    block::backward_input(call.context(), x.data(), out.data(), x.gradient.data(), saved.data(), kept.data());
    block::backward_weight(call.context(), x.data(), out.data(), saved.data(), kept.data());
    for (auto const* const memory : {&call.scratch, &saved, &kept})
      CHECK(std::all_of(memory->end() - 64, memory->end(), [](std::byte each) { return each == std::byte{0x5A}; }));
  };
  check(std::integral_constant<llama_size, wide>{});
  check(std::integral_constant<llama_size, tall>{});
}

TEST_CASE("llama: the head's gradients against finite differences, ignored targets") {
  constexpr llama_size size{.vocabulary = 13, .width = 6, .heads = 3, .kv_heads = 1};
  using head = weft::model::llama_head<size>;
  extents const shape{2, 3};
  tensor x("x", 6 * 6, 1);
  auto const made = parameters_of(head::describe(0));
  REQUIRE(made.size() == 2);
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

TEST_CASE("llama: the embedding hands on rows of its table; gradients against finite differences") {
  using layer = weft::model::llama_embedding<llama_size{.vocabulary = 9, .width = 7}>;
  tensor tokens("embed_tokens", 9 * 7, 1);
  caller<double> call({3, 5});
  call.inputs = {1, 2, 1, 1, 8, 0, 0, 3, 1, 4, 5, 5, 5, 5, 5};
  call.set_parameters({&tokens});
  auto const probe = normal_numbers(3 * 5 * 7, 3);
  std::vector<double> out(probe.size());
  auto const loss = [&] {
    layer::forward<double, space>(call.context(), nullptr, out.data(), nullptr);
    return dot(probe, out);
  };
  loss();
  CHECK(std::equal(out.begin() + 4 * 7, out.begin() + 5 * 7, tokens.value.begin() + 8 * 7));
  layer::backward_weight<double, space>(call.context(), nullptr, probe.data(), nullptr, nullptr);
  check_gradients(loss, {&tokens});
  for (std::size_t c = 0; c < 7; ++c) CHECK(tokens.gradient[6 * 7 + c] == 0.0);  // a token that does not occur
}

TEST_CASE("llama: parameters have Hugging Face's names and shapes, each once") {
  std::map<std::string, std::string> shapes;
  std::int64_t elements = 0;
  for (auto const& each : stage<nano>::describe({0, nano::layer_count})) {
    std::string shape = std::to_string(each.extents[0]);
    if (each.dimensions == 2) shape += " x " + std::to_string(each.extents[1]);
    CHECK_FALSE(shapes.contains(each.name));
    CHECK(each.tie_group == -1);
    CHECK(each.use_site == 0);
    elements += each.elements();
    shapes[each.name] = shape;
    CHECK(each.decay == (each.dimensions == 2));
  }
  CHECK(elements == nano::parameter_count());
  CHECK(shapes.size() == 3 + 9 * 4);
  CHECK(shapes.at("model.embed_tokens.weight") == "256 x 128");
  CHECK(shapes.at("model.layers.0.input_layernorm.weight") == "128");
  CHECK(shapes.at("model.layers.3.self_attn.q_proj.weight") == "128 x 128");
  CHECK(shapes.at("model.layers.3.self_attn.k_proj.weight") == "64 x 128");
  CHECK(shapes.at("model.layers.1.self_attn.v_proj.weight") == "64 x 128");
  CHECK(shapes.at("model.layers.1.self_attn.o_proj.weight") == "128 x 128");
  CHECK(shapes.at("model.layers.2.post_attention_layernorm.weight") == "128");
  CHECK(shapes.at("model.layers.2.mlp.gate_proj.weight") == "384 x 128");
  CHECK(shapes.at("model.layers.2.mlp.up_proj.weight") == "384 x 128");
  CHECK(shapes.at("model.layers.2.mlp.down_proj.weight") == "128 x 384");
  CHECK(shapes.at("model.norm.weight") == "128");
  CHECK(shapes.at("lm_head.weight") == "256 x 128");
}

TEST_CASE("llama: the bytes that the model announces are those that a stage allocates") {
  extents const shape{3, 50};
  stage<nano> made({{0, nano::layer_count}}, {0}, shape, 1);
  made.prepare(0, {.activation = 2, .weight_context = 1});
  std::int64_t activations = 0;
  std::int64_t contexts = 0;
  std::int64_t workspace = 0;
  for (int layer = 0; layer < nano::layer_count; ++layer) {
    activations += nano::activation_bytes<float>(layer, shape);
    contexts += nano::weight_context_bytes<float>(layer, shape);
    workspace = std::max(workspace, nano::workspace_bytes<float>(layer, shape));
  }
  CHECK(static_cast<std::int64_t>(made.buffer_bytes()) == 2 * activations + contexts + workspace);
}

TEST_CASE("llama: it has no dropout, and says so") {
  stage<nano> made({{0, nano::layer_count}}, {0}, {1, 8}, 1);
  made.set_dropout(0.0);
  CHECK_THROWS_WITH_AS(made.set_dropout(0.1),
                       "weft::model_stage: this model has no dropout, and 0.100000 asks for some; set the rate to 0",
                       weft::error);
}

TEST_CASE("llama: a partition by cost weighs the blocks by their products") {
  // Twelve blocks and a head that costs as much as three of them, over four ranks.
  using big = llama<weft::model::llama_160m>;
  extents const shape{1, 512};
  auto const ratio = static_cast<double>(big::flops(13, shape)) / static_cast<double>(big::flops(1, shape));
  CHECK(ratio > 2.4);
  CHECK(ratio < 2.6);
  auto const layers = weft::partition_of<big>(4, shape);
  CHECK(layers[3].size() < layers[0].size());
}

TEST_CASE("llama: the name tells every size") {
  CHECK(nano::name() ==
        "llama(vocabulary 256, positions 128, width 128, heads 4, kv heads 2, hidden 384, blocks 4, theta 10000, "
        "epsilon 1e-6)");
}
