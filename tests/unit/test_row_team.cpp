// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"
#include "support/thread_team.hpp"

#include <weft/execution/row_team.hpp>
#include <weft/model/attention.hpp>
#include <weft/model/cross_entropy.hpp>
#include <weft/model/layer_norm.hpp>
#include <weft/model/rms_norm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace layer_fixture;
namespace execution = weft::execution;
namespace kernels = weft::model::kernels;

namespace {

/// As a device runs a row functor, with threads of the host.
template <int Threads, int Rows, class Functor>
void in_threads(std::int64_t rows, Functor const& functor) {
  using teams = execution::detail::row_teams<Functor, thread_team::member, Threads, Rows>;
  thread_team::run(static_cast<int>((rows + Rows - 1) / Rows), Threads * Rows, teams::scratch_bytes + 8,
                   teams{functor, rows});
}

/// Runs a kernel that `make` builds over buffers once by one thread a row and then by teams of several shapes, and
/// compares every bit of what it wrote. The buffers start alike each time.
template <class Real, class Make>
void check_shapes(std::int64_t rows, std::vector<Real> const& start, Make const& make) {
  std::vector<Real> wanted = start;
  execution::for_each_row(space{}, rows, make(wanted.data()));
  CHECK(wanted != start);
  auto const check = [&](auto const& launch) {
    std::vector<Real> found = start;
    launch(make(found.data()));
    CHECK(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(Real)) == 0);
  };
  check([&](auto const& kernel) { execution::for_each_row_in_teams<1, 1>(space{}, rows, kernel); });
  if (space{}.concurrency() >= 2) {
    check([&](auto const& kernel) { execution::for_each_row_in_teams<2, 1>(space{}, rows, kernel); });
    check([&](auto const& kernel) { execution::for_each_row_in_teams<1, 2>(space{}, rows, kernel); });
  }
  check([&](auto const& kernel) { in_threads<16, 2>(rows, kernel); });
  check([&](auto const& kernel) { in_threads<4, 3>(rows, kernel); });
}

}  // namespace

TEST_CASE_TEMPLATE("row kernels: teams of any shape give the bits of one thread", Real, float, double) {
  constexpr std::int64_t rows = 5;
  for (std::int64_t const columns : {1, 3, 16, 37, 64}) {
    CAPTURE(columns);
    auto const count = static_cast<std::size_t>(rows * columns);
    auto const x = normal_numbers<Real>(count, 1);
    auto const dy = normal_numbers<Real>(count, 2);
    auto const add = normal_numbers<Real>(count, 3);
    auto const w = normal_numbers<Real>(static_cast<std::size_t>(columns), 4);
    auto const b = normal_numbers<Real>(static_cast<std::size_t>(columns), 5);
    auto const mean = normal_numbers<Real>(rows, 6);
    auto const rstd = normal_numbers<Real>(rows, 7);
    auto const blank = std::vector<Real>(2 * count + 2 * rows, Real(-7));

    check_shapes(rows, blank, [&](Real* out) {
      return kernels::norm_forward<Real>{x.data(), w.data(), b.data(), out, out + count, out + count + rows, columns};
    });
    for (Real const* const residual : {static_cast<Real const*>(nullptr), add.data()}) {
      check_shapes(rows, blank, [&](Real* out) {
        return kernels::norm_backward<Real>{x.data(),  w.data(), b.data(), mean.data(), rstd.data(),
                                            dy.data(), residual, out,      out + count, columns};
      });
      check_shapes(rows, blank, [&](Real* out) {
        return kernels::rms_norm_backward<Real>{x.data(), w.data(), rstd.data(), dy.data(),
                                                residual, out,      out + count, columns};
      });
    }
    check_shapes(rows, blank, [&](Real* out) {
      return kernels::rms_norm_forward<Real>{x.data(), w.data(), out, out + count, Real(1e-5), columns};
    });

    std::vector<std::int32_t> const targets{0, -1, static_cast<std::int32_t>(columns - 1),
                                            static_cast<std::int32_t>(columns / 2), 0};
    std::vector<double> loss(rows);
    check_shapes(rows, blank, [&](Real* out) {
      return kernels::cross_entropy_forward<Real>{x.data(), targets.data(), out, loss.data(), columns};
    });
    weft::model::call_values const now{.gradient_scale = 0.25};
    check_shapes(rows, x, [&](Real* logits) {
      return kernels::cross_entropy_backward<Real>{logits, targets.data(), mean.data(), &now, columns};
    });
  }
}

TEST_CASE_TEMPLATE("causal softmax: teams of any shape give the bits of one thread", Real, float, double) {
  constexpr std::int64_t heads = 2;
  for (auto const& [first, height] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {0, 20}, {20, 7}}) {
    CAPTURE(first);
    kernels::attention_tile const tile{height, first + height, first, 40, 1};
    auto const square = static_cast<std::size_t>(heads * tile.rows * tile.keys);
    auto const sums = static_cast<std::size_t>(heads * tile.length);
    auto const start = normal_numbers<Real>(2 * square + sums, 1);
    auto const logsum = normal_numbers<Real>(sums, 2);
    weft::model::dropout_keys const keys{0.3, 3, 4, 5, 6};
    auto const now = weft::model::call_values::make(keys, 1.0);
    auto const mask = weft::model::dropout_mask<Real>::make(keys, 0, &now);
    std::int64_t const rows = heads * tile.rows;
    check_shapes(rows, start, [&](Real* data) {
      return kernels::causal_softmax<Real, false>{data, data + 2 * square, Real(0.3), tile, mask};
    });
    check_shapes(rows, start, [&](Real* data) {
      return kernels::causal_softmax<Real, true>{data, data + 2 * square, Real(0.3), tile, mask};
    });
    check_shapes(rows, start, [&](Real* data) {
      return kernels::causal_softmax_backward<Real, false>{data, data + square, logsum.data(), Real(0.3), tile, mask};
    });
    check_shapes(rows, start, [&](Real* data) {
      return kernels::causal_softmax_backward<Real, true>{data, data + square, logsum.data(), Real(0.3), tile, mask};
    });
  }
}

TEST_CASE("row kernels: no rows launch nothing") {
  std::vector<float> untouched(4, 1.0F);
  kernels::rms_norm_forward<float> const kernel{nullptr, nullptr, untouched.data(), untouched.data(), 1e-5F, 4};
  execution::for_each_row(space{}, 0, kernel);
  execution::for_each_row_in_teams<1, 1>(space{}, 0, kernel);
  CHECK(std::all_of(untouched.begin(), untouched.end(), [](float value) { return value == 1.0F; }));
}
