// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of whole models in double against differences of the loss, tensor by tensor: a wrong kernel is named by the
// tensors that it spoils.
#include "models.hpp"

#include <weft/execution/random.hpp>
#include <weft/pipeline/stage_context.hpp>

#include <support/token_source.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using device_checks::memory;
using device_checks::space;

constexpr weft::model::extents micro_batch{2, 11};  // an odd length: tiles and teams have a rest

template <class Model, class Real>
class whole_model {
 public:
  using stage_type = weft::model::model_stage<Model, Real, space>;

  explicit whole_model(double dropout) : stage_({{0, Model::layer_count}}, {0}, micro_batch, 3), tokens_(31, 2, 11, 4) {
    stage_.prepare(0, {.activation = 1, .weight_context = 1});
    if (dropout > 0.0) stage_.set_dropout(dropout);
    batch_ = tokens_.view(1, 7);
    batch_.counted_tokens = 1;  // the loss is the sum, whose gradients are not small
    context_.set(0, 0, 0, 0);
  }

  double loss() {
    weft::boundary_views<memory> in;
    weft::boundary_views<memory> out;
    stage_.begin(batch_);
    stage_.forward(context_, in, out);
    return stage_.loss_sums()[0];
  }

  double loss_and_gradients() {
    double const found = loss();
    weft::boundary_views<memory> in;
    weft::boundary_views<memory> grad_out;
    weft::boundary_views<memory> grad_in;
    stage_.parameters().zero_gradients(space_);
    stage_.backward(context_, in, grad_out, grad_in);
    weft::execution::fence(space_, "weft::check");
    return found;
  }

  auto& store() { return stage_.parameters(); }

  std::vector<Real> value(std::size_t entry) {
    std::vector<Real> host(static_cast<std::size_t>(store().entries()[entry].elements));
    store().read(store().value(store().entries()[entry]), host.data());
    return host;
  }
  void set_value(std::size_t entry, std::vector<Real> const& to) {
    store().write(store().value(store().entries()[entry]), to.data());
  }
  /// Of a tensor, all of its use sites together.
  std::vector<Real> gradient(std::size_t entry) {
    auto const& entries = store().entries();
    std::vector<Real> sum(static_cast<std::size_t>(entries[entry].elements), Real(0));
    std::vector<Real> host(sum.size());
    for (std::size_t each = 0; each < entries.size(); ++each) {
      if (each != entry && entries[each].owner != static_cast<int>(entry)) continue;
      store().read(store().gradient(entries[each]), host.data());
      for (std::size_t index = 0; index < sum.size(); ++index) sum[index] += host[index];
    }
    return sum;
  }

 private:
  space space_;
  stage_type stage_;
  token_source tokens_;
  weft::model::token_batch batch_;
  weft::stage_context<space> context_{space_, nullptr};
};

/// Along a random direction in each tensor alone, by the five-point stencil.
template <class Model>
void check_model(double dropout) {
  whole_model<Model, double> model(dropout);
  double const at_first = model.loss_and_gradients();
  CHECK(at_first > 1.0);
  auto const entries = model.store().entries();
  for (std::size_t each = 0; each < entries.size(); ++each) {
    if (entries[each].owner >= 0) continue;
    std::vector<double> const start = model.value(each);
    std::vector<double> const gradient = model.gradient(each);
    std::vector<double> way(start.size());
    double wanted = 0.0;
    double size = 0.0;
    for (std::size_t index = 0; index < way.size(); ++index) {
      auto const drawn = weft::random::philox(
          {{static_cast<std::uint32_t>(index), 5, static_cast<std::uint32_t>(each), 0}}, weft::random::make_key(8));
      way[index] = weft::random::normal(drawn.word[0], drawn.word[1]).first;
      wanted += way[index] * gradient[index];
      size += std::abs(way[index] * gradient[index]);
    }
    auto const loss_at = [&](double offset) {
      std::vector<double> moved(start);
      for (std::size_t index = 0; index < way.size(); ++index) moved[index] += offset * way[index];
      model.set_value(each, moved);
      return model.loss();
    };
    constexpr double step = 1e-4;
    double const found =
        (8.0 * (loss_at(step) - loss_at(-step)) - (loss_at(2.0 * step) - loss_at(-2.0 * step))) / (12.0 * step);
    model.set_value(each, start);
    CAPTURE(entries[each].descriptor.name);
    CAPTURE(found);
    CAPTURE(wanted);
    CHECK(size > 1e-6);  // of the key bias too, whose derivative is zero and whose parts are not
    CHECK(std::abs(found - wanted) <= 1e-7 * size + 1e-8 * at_first);
  }
}

}  // namespace

TEST_CASE("device gradients: every tensor of GPT-2, in double") { check_model<device_checks::gpt2>(0.0); }
TEST_CASE("device gradients: every tensor of GPT-2 with dropout, in double") { check_model<device_checks::gpt2>(0.2); }
TEST_CASE("device gradients: every tensor of Llama, in double") { check_model<device_checks::llama>(0.0); }

TEST_CASE("device gradients: float is double to its own rounding, and the same bits again") {
  whole_model<device_checks::gpt2, double> exact(0.1);
  whole_model<device_checks::gpt2, float> rounded(0.1);
  whole_model<device_checks::gpt2, float> again(0.1);
  double const loss = exact.loss_and_gradients();
  CHECK(rounded.loss_and_gradients() == doctest::Approx(loss).epsilon(1e-5));
  CHECK(again.loss_and_gradients() == rounded.loss_and_gradients());
  for (std::size_t each = 0; each < exact.store().entries().size(); ++each) {
    auto const wanted = exact.gradient(each);
    auto const found = rounded.gradient(each);
    double largest = 0.0;
    double worst = 0.0;
    for (std::size_t index = 0; index < wanted.size(); ++index) {
      largest = (std::max)(largest, std::abs(wanted[index]));
      worst = (std::max)(worst, std::abs(wanted[index] - static_cast<double>(found[index])));
    }
    CAPTURE(exact.store().entries()[each].descriptor.name);
    CHECK(worst <= 1e-4 * largest + 1e-5);
    CHECK(again.gradient(each) == found);
  }
}
