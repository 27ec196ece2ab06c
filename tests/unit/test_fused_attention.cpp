// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"
#include "support/thread_team.hpp"

#include <weft/model/attention.hpp>
#include <weft/model/fused_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

using namespace layer_fixture;
using weft::model::attention;
using weft::model::attention_shape;
using weft::model::fused_attention;
namespace kernels = weft::model::kernels;
namespace detail = weft::model::attention_detail;

namespace {

struct problem {
  int sequences;
  int length;
  attention_shape shape;
  double rate = 0.0;

  [[nodiscard]] std::size_t tokens() const { return static_cast<std::size_t>(sequences * length); }
  [[nodiscard]] std::size_t qkv() const { return tokens() * static_cast<std::size_t>(shape.row()); }
  [[nodiscard]] std::size_t mixed() const { return tokens() * static_cast<std::size_t>(shape.width()); }
  [[nodiscard]] std::size_t sums() const { return tokens() * static_cast<std::size_t>(shape.heads); }
};

/// What attention makes of a problem. Outputs start as NaN.
template <class Real>
struct outcome {
  std::vector<Real> mixed, logsum, gradient;
};

template <class Real, class Forward, class Backward>
outcome<Real> run(problem const& is, Forward const& forward, Backward const& backward) {
  auto const qkv = normal_numbers<Real>(is.qkv(), 1);
  auto const grad = normal_numbers<Real>(is.mixed(), 2);
  auto const empty = std::numeric_limits<Real>::quiet_NaN();
  outcome<Real> made{std::vector<Real>(is.mixed(), empty), std::vector<Real>(is.sums(), empty),
                     std::vector<Real>(is.qkv(), empty)};
  caller<Real> call({is.sequences, is.length});
  call.dropout = {is.rate, 3, 4, 5, 6};
  auto const context = call.context();
  forward(context, qkv.data(), made.mixed.data(), made.logsum.data());
  backward(context, qkv.data(), made.mixed.data(), made.logsum.data(), grad.data(), made.gradient.data());
  return made;
}

template <class Real>
outcome<Real> by_tiles(problem const& is) {
  return run<Real>(
      is,
      [&](auto const& context, Real const* qkv, Real* mixed, Real* logsum) {
        attention::forward(context, is.shape, qkv, mixed, logsum, 0);
      },
      [&](auto const& context, Real const* qkv, Real const*, Real const* logsum, Real const* grad, Real* grad_qkv) {
        attention::backward(context, is.shape, qkv, logsum, grad, grad_qkv, 0);
      });
}

template <class Real, std::int64_t HeadWidth>
outcome<Real> fused(problem const& is) {
  return run<Real>(
      is,
      [&](auto const& context, Real const* qkv, Real* mixed, Real* logsum) {
        fused_attention<HeadWidth>::forward(context, is.shape, qkv, mixed, logsum, 0);
      },
      [&](auto const& context, Real const* qkv, Real const* mixed, Real const* logsum, Real const* grad,
          Real* grad_qkv) {
        fused_attention<HeadWidth>::backward(context, is.shape, qkv, mixed, logsum, grad, grad_qkv, 0);
      });
}

/// The same kernels by teams of `Threads` threads of this host.
template <class Real, int Width, bool HasDropout, int Threads>
outcome<Real> by_threads(problem const& is) {
  detail::problem const what{is.shape, is.length, 1.0 / std::sqrt(static_cast<double>(is.shape.head_width))};
  std::int64_t const pairs = is.sequences * is.shape.heads;
  std::int64_t const kv_pairs = is.sequences * is.shape.kv_heads;
  weft::model::dropout_keys const keys{is.rate, 3, 4, 5, 6};
  auto const now = weft::model::call_values::make(keys, 1.0);
  auto const mask = weft::model::dropout_mask<Real>::make(keys, 0, &now);
  auto const launch = [&](auto const& kernel, std::int64_t of) {
    using kernel_type = std::decay_t<decltype(kernel)>;
    std::size_t const numbers = detail::scratch_numbers(kernel_type::sizes, Width, kernel_type::held);
    thread_team::run(static_cast<int>(of * what.tiles(kernel_type::sizes.rows)), Threads, numbers * sizeof(Real),
                     kernel);
  };
  return run<Real>(
      is,
      [&](auto const&, Real const* qkv, Real* mixed, Real* logsum) {
        launch(
            kernels::fused_attention_forward<Real, Width, HasDropout, Threads, thread_team::member>{
                what, qkv, mixed, logsum, mask, pairs},
            pairs);
      },
      [&](auto const&, Real const* qkv, Real const* mixed, Real const* logsum, Real const* grad, Real* grad_qkv) {
        std::vector<Real> along(is.sums());
        launch(
            kernels::fused_attention_queries<Real, Width, HasDropout, Threads, thread_team::member>{
                what, qkv, mixed, logsum, grad, grad_qkv, along.data(), mask, pairs},
            pairs);
        launch(
            kernels::fused_attention_keys<Real, Width, HasDropout, Threads, thread_team::member>{
                what, qkv, logsum, along.data(), grad, grad_qkv, mask, kv_pairs},
            kv_pairs);
      });
}

template <class Real>
double distance(std::vector<Real> const& left, std::vector<Real> const& right) {
  double worst = 0.0;
  for (std::size_t index = 0; index < left.size(); ++index) {
    double const apart = std::abs(static_cast<double>(left[index]) - static_cast<double>(right[index]));
    worst = apart <= worst ? worst : apart;  // NaN counts
  }
  return worst;
}

template <class Real, std::int64_t HeadWidth>
void check_against_tiles(problem const& is, double most) {
  CAPTURE(HeadWidth);
  CAPTURE(is.length);
  CAPTURE(is.shape.kv_heads);
  CAPTURE(is.rate);
  auto const wanted = by_tiles<Real>(is);
  auto const found = fused<Real, HeadWidth>(is);
  CHECK(distance(found.mixed, wanted.mixed) < most);
  CHECK(distance(found.logsum, wanted.logsum) < most);
  CHECK(distance(found.gradient, wanted.gradient) < 20.0 * most);
}

template <class Real>
bool same_bits(std::vector<Real> const& left, std::vector<Real> const& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(Real)) == 0;
}

// Every head width from 1 to 128 fits, with either type; tiles of floats are as the comment in the header says.
template <std::int64_t... Width>
constexpr bool all_fit(std::integer_sequence<std::int64_t, Width...>) {
  return ((fused_attention<Width + 1>::template fits<float> && fused_attention<Width + 1>::template fits<double>)&&...);
}
static_assert(all_fit(std::make_integer_sequence<std::int64_t, 128>{}));
static_assert(fused_attention<256>::fits<float> && !fused_attention<512>::fits<float>);
static_assert(fused_attention<256>::fits<weft::bfloat16> && fused_attention<40>::width == 40);
static_assert(fused_attention<33>::width == 40 && fused_attention<1>::width == 8);
// One number a head and token, which no square of the length hides in.
static_assert(fused_attention<64>::workspace_elements({1, 2048}, 12) ==
              2 * fused_attention<64>::workspace_elements({1, 1024}, 12));

}  // namespace

TEST_CASE("fused attention: outputs and gradients of the tiled products, to rounding") {
  for (double const rate : {0.0, 0.3}) {
    for (int const length : {1, 7, 33, 64, 150}) {
      check_against_tiles<double, 4>({2, length, {3, 3, 4}, rate}, 1e-13);
      check_against_tiles<double, 4>({1, length, {4, 2, 4}, rate}, 1e-13);
    }
    check_against_tiles<double, 33>({1, 50, {2, 1, 33}, rate}, 1e-13);
    check_against_tiles<double, 128>({1, 40, {1, 1, 128}, rate}, 1e-13);
    check_against_tiles<float, 64>({1, 150, {3, 3, 64}, rate}, 1e-5);
  }
}

TEST_CASE("fused attention: gradients against finite differences") {
  for (problem const& is : {problem{2, 5, {2, 2, 4}, 0.0}, {2, 5, {4, 2, 4}, 0.3}, {1, 19, {2, 1, 4}, 0.0}}) {
    CAPTURE(is.length);
    CAPTURE(is.rate);
    tensor qkv("qkv", static_cast<std::int64_t>(is.qkv()), 1);
    auto const probe = normal_numbers(is.mixed(), 2);
    std::vector<double> mixed(is.mixed());
    std::vector<double> logsum(is.sums());
    caller<double> call({is.sequences, is.length});
    call.dropout = {is.rate, 3, 4, 5, 6};
    auto const loss = [&] {
      fused_attention<4>::forward(call.context(), is.shape, qkv.data(), mixed.data(), logsum.data(), 0);
      return dot(probe, mixed);
    };
    loss();
    fused_attention<4>::backward(call.context(), is.shape, qkv.data(), mixed.data(), logsum.data(), probe.data(),
                                 qkv.gradient.data(), 0);
    check_gradients(loss, {&qkv});
  }
}

TEST_CASE("fused attention: a team of any size gives the same bits") {
  problem const is{1, 70, {2, 1, 12}, 0.3};
  auto const alone = fused<float, 12>(is);
  auto const check = [&](outcome<float> const& found) {
    CHECK(same_bits(found.mixed, alone.mixed));
    CHECK(same_bits(found.logsum, alone.logsum));
    CHECK(same_bits(found.gradient, alone.gradient));
  };
  check(by_threads<float, 16, true, 4>(is));
  check(by_threads<float, 16, true, 128>(is));
}

TEST_CASE("fused attention: large scores do not overflow, and later keys do not matter") {
  constexpr int length = 40;
  constexpr int width = 8;
  auto qkv = normal_numbers<float>(length * 3 * width, 1, 200.0);
  std::vector<float> mixed(length * width);
  std::vector<float> again(length * width);
  std::vector<float> logsum(length * 2);
  caller<float> call({1, length});
  attention_shape const shape{2, 2, width / 2};
  fused_attention<4>::forward(call.context(), shape, qkv.data(), mixed.data(), logsum.data(), 0);
  CHECK(std::all_of(mixed.begin(), mixed.end(), [](float value) { return std::isfinite(value); }));
  for (std::size_t index = 20 * 3 * width; index < qkv.size(); ++index) qkv[index] += 1.0F;
  fused_attention<4>::forward(call.context(), shape, qkv.data(), again.data(), logsum.data(), 0);
  CHECK(std::equal(mixed.begin(), mixed.begin() + 20 * width, again.begin()));
  CHECK(mixed != again);
}
