// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// compiled alone: blocks have attention here as devices have it.
#include <weft/model/causal_attention.hpp>

template <>
inline constexpr bool weft::model::fuses_attention<Kokkos::DefaultHostExecutionSpace> = true;

#include "layer_fixture.hpp"
#include "support/sweep.hpp"

#include <weft/model/block.hpp>
#include <weft/model/llama_block.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

using namespace layer_fixture;
using weft::model::extents;

namespace {

constexpr int gpt_width = weft_test::is_sanitized ? 6 : 12;
using gpt = weft::model::block<weft::model::gpt_size{.width = gpt_width, .heads = 3, .blocks = 2}>;
/// Attention needs more scratch than the MLP.
using llama =
    weft::model::llama_block<weft::model::llama_size{.width = 8, .heads = 4, .kv_heads = 2, .hidden = 3, .theta = 50}>;
static_assert(decltype(weft::model::causal_attention<gpt::heads>())::is_fused<double, space>);

/// A block with its parameters, and memory of exactly the sizes that it asks for before a pattern.
template <class Block>
struct caller_of {
  static constexpr std::byte pattern{0x5A};
  extents shape;
  tensor x;
  std::vector<std::unique_ptr<tensor>> parameters;
  std::vector<double> probe, out;
  std::vector<std::byte> saved, kept;
  caller<double> call;

  caller_of(extents of, int width, double rate)
      : shape(of),
        x("x", of.tokens() * width, 1),
        probe(normal_numbers(x.value.size(), 2)),
        out(x.value.size()),
        saved(Block::template saved_bytes<double>(of) + 64, pattern),
        kept(Block::template weight_context_bytes<double>(of) + 64, pattern),
        call(of, Block::template workspace_bytes<double, space>(of) + 64) {
    for (auto const& each : Block::describe(1))
      parameters.push_back(std::make_unique<tensor>(each.name, each.elements(),
                                                    10 + static_cast<std::uint32_t>(parameters.size()), 0.5));
    std::fill(call.scratch.begin(), call.scratch.end(), pattern);
    auto const all = tensors();
    call.set_parameters({all.begin() + 1, all.end()});
    call.dropout = {rate, 1, 2, 3, 4};
  }

  [[nodiscard]] std::vector<tensor*> tensors() {
    std::vector<tensor*> result{&x};
    for (auto const& each : parameters) result.push_back(each.get());
    return result;
  }
  double loss() {
    Block::forward(call.context(), x.data(), out.data(), saved.data());
    return dot(probe, out);
  }
  void backward() {
    Block::backward_input(call.context(), x.data(), probe.data(), x.gradient.data(), saved.data(), kept.data());
    Block::backward_weight(call.context(), x.data(), probe.data(), saved.data(), kept.data());
  }
  [[nodiscard]] bool stayed_inside() const {
    return std::ranges::all_of(std::vector{&call.scratch, &saved, &kept}, [](auto const* memory) {
      return std::all_of(memory->end() - 64, memory->end(), [](std::byte each) { return each == pattern; });
    });
  }
};

template <class Block>
void check(extents shape, int width, double rate) {
  CAPTURE(rate);
  caller_of<Block> made(shape, width, rate);
  made.loss();
  made.backward();
  CHECK(made.stayed_inside());
  check_gradients([&] { return made.loss(); }, made.tensors());
}

}  // namespace

TEST_CASE("fused attention in a GPT-2 block: gradients against finite differences, memory as asked") {
  if (!weft_test::is_sanitized) check<gpt>({2, 5}, gpt_width, 0.0);
  check<gpt>({2, 5}, gpt_width, 0.2);
}

TEST_CASE("fused attention in a Llama block: gradients against finite differences, memory as asked") {
  check<llama>({2, 5}, 8, 0.0);
  caller_of<llama> longer({2, 70}, 8, 0.0);
  longer.loss();
  longer.backward();
  CHECK(longer.stayed_inside());
}

TEST_CASE("fused attention: a block's workspace is a number of its width a token, and no more for longer sequences") {
  auto const bytes = [](int sequences, int length) {
    return static_cast<double>(gpt::workspace_bytes<double, space>({sequences, length}));
  };
  CHECK(bytes(1, 4096) == doctest::Approx(bytes(4, 1024)).epsilon(1e-3));
}
