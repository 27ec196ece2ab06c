// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/concepts/pipeline_stage.hpp>
#include <weft/concepts/plannable_model.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/model_stage.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using weft::model::extents;
using weft::model::gpt2;

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
template <class Model>
using stage = weft::model::model_stage<Model, float, space>;
using nano = gpt2<weft::model::nano>;
using views = weft::boundary_views<space::memory_space>;

static_assert(weft::plannable_model<nano, extents>);
static_assert(weft::pipeline_stage<stage<nano>, weft::stage_context<space>, views>);
static_assert(weft::split_backward_stage<stage<nano>, weft::stage_context<space>, views>);

// Sizes, FLOPs and bytes are constants.
static_assert(nano::layer_count == 6);
static_assert(gpt2<weft::model::gpt2_124m>::parameter_count() == 124439808);
static_assert(nano::parameter_count(1) == 12 * 128 * 128 + 13 * 128);
static_assert(nano::parameter_count() == 256 * 128 + 128 * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128);
static_assert(nano::tied_parameter_count(5) == 256 * 128 && nano::tied_parameter_count(0) == 0);
static_assert(nano::flops(1, {2, 64}) == 24LL * 128 * 128 * 128 + 4LL * 128 * 128 * 65 / 2);
static_assert(nano::flops(5, {2, 64}) == 2LL * 128 * 128 * 256);
static_assert(nano::boundary_elements({2, 64}) == 2 * 64 * 128);
static_assert(nano::activation_bytes<double>(1, {2, 64}) > 1.9 * nano::activation_bytes<float>(1, {2, 64}));
static_assert(nano::activation_bytes<float>(0, {2, 64}) == 2 * 64 * 128 * 4);
static_assert(nano::weight_context_bytes(0, {2, 64}) == 0);

}  // namespace

TEST_CASE("gpt2: parameters have Hugging Face's names and shapes, each once per use") {
  std::map<std::string, std::string> shapes;
  std::int64_t elements = 0;
  for (auto const& each : stage<nano>::describe({0, nano::layer_count})) {
    std::string shape = std::to_string(each.extents[0]);
    if (each.dimensions == 2) shape += " x " + std::to_string(each.extents[1]);
    if (each.use_site == 0) {
      CHECK_FALSE(shapes.contains(each.name));
      elements += each.elements();
    } else {
      CHECK(each.name == "transformer.wte.weight");
    }
    shapes[each.name] = shape;
    CHECK(each.decay == (each.dimensions == 2));
  }
  CHECK(elements == nano::parameter_count());
  CHECK(shapes.size() == 4 + 12 * 4);
  CHECK(shapes.at("transformer.wte.weight") == "256 x 128");
  CHECK(shapes.at("transformer.wpe.weight") == "128 x 128");
  CHECK(shapes.at("transformer.h.0.ln_1.weight") == "128");
  CHECK(shapes.at("transformer.h.3.attn.c_attn.weight") == "128 x 384");
  CHECK(shapes.at("transformer.h.3.attn.c_attn.bias") == "384");
  CHECK(shapes.at("transformer.h.1.attn.c_proj.weight") == "128 x 128");
  CHECK(shapes.at("transformer.h.1.ln_2.bias") == "128");
  CHECK(shapes.at("transformer.h.2.mlp.c_fc.weight") == "128 x 512");
  CHECK(shapes.at("transformer.h.2.mlp.c_proj.weight") == "512 x 128");
  CHECK(shapes.at("transformer.ln_f.weight") == "128");
}

TEST_CASE("gpt2: any two ranges describe what their union describes") {
  auto const all = stage<nano>::describe({0, 6});
  for (int cut = 0; cut <= 6; ++cut) {
    auto parts = stage<nano>::describe({0, cut});
    for (auto& each : stage<nano>::describe({cut, 6})) parts.push_back(each);
    REQUIRE(parts.size() == all.size());
    for (std::size_t index = 0; index < all.size(); ++index) CHECK(parts[index].name == all[index].name);
  }
}

TEST_CASE("gpt2: the bytes that the model announces are those that a stage allocates") {
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

TEST_CASE("gpt2: the name tells every size") {
  CHECK(nano::name() == "gpt2(vocabulary 256, positions 128, width 128, heads 4, blocks 4)");
}
