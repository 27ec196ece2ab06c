// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"
#include "support/thread_team.hpp"

#include <weft/execution/column_team.hpp>
#include <weft/model/embedding_scatter.hpp>
#include <weft/model/layer_norm.hpp>
#include <weft/model/linear.hpp>
#include <weft/model/rms_norm.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace layer_fixture;
namespace execution = weft::execution;
namespace kernels = weft::model::kernels;

namespace {

template <class Real>
bool same_bits(std::vector<Real> const& left, std::vector<Real> const& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(Real)) == 0;
}

template <int Threads, class Functor>
void in_threads(Functor const& functor) {
  using teams = execution::detail::column_teams<Functor, thread_team::member, Threads>;
  thread_team::run(static_cast<int>((functor.cut.columns + teams::columns - 1) / teams::columns), Threads,
                   teams::scratch_bytes + 8, teams{functor});
}

/// The sums that column_team.hpp promises, written down plainly: row r to sum r % 64, then halves.
template <class Real, class Term>
Real promised(std::int64_t rows, Term const& term) {
  Real sum[64] = {};
  for (std::int64_t row = 0; row < rows; ++row) sum[row % 64] += term(row);
  for (int half = 32; half > 0; half /= 2)
    for (int part = 0; part < half; ++part) sum[part] += sum[part + half];
  return sum[0];
}

/// `make(target)` builds a kernel; `term(row, column, which)` is what it adds. Targets start as they are.
template <class Real, class Make, class Term>
void check(std::int64_t rows, std::int64_t columns, int sums, Make const& make, Term const& term) {
  CAPTURE(rows);
  CAPTURE(columns);
  auto const start = normal_numbers<Real>(static_cast<std::size_t>(sums * columns), 9);
  auto wanted = start;
  for (int which = 0; which < sums; ++which)
    for (std::int64_t c = 0; c < columns; ++c)
      wanted[static_cast<std::size_t>(which * columns + c)] +=
          promised<Real>(rows, [&](std::int64_t row) { return term(row, c, which); });
  auto found = start;
  execution::for_each_column_in_teams<1>(space{}, make(found.data()));
  CHECK(same_bits(found, wanted));
  found = start;
  in_threads<16>(make(found.data()));
  CHECK(same_bits(found, wanted));
  found = start;
  execution::for_each_column(space{}, make(found.data()));
  for (std::size_t index = 0; index < found.size(); ++index)
    CHECK(found[index] == doctest::Approx(wanted[index]).epsilon(1e-4));
}

}  // namespace

TEST_CASE_TEMPLATE("column sums: teams add in the promised order, to what hosts add to rounding", Real, float, double) {
  for (auto const& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {63, 8}, {64, 3}, {200, 21}}) {
    std::int64_t const height = rows;
    std::int64_t const width = columns;
    auto const count = static_cast<std::size_t>(rows * columns);
    auto const x = normal_numbers<Real>(count, 1);
    auto const dy = normal_numbers<Real>(count, 2);
    auto const mean = normal_numbers<Real>(static_cast<std::size_t>(rows), 3);
    auto const rstd = normal_numbers<Real>(static_cast<std::size_t>(rows), 4);
    auto const at = [width](std::int64_t row, std::int64_t column) {
      return static_cast<std::size_t>(row * width + column);
    };
    auto const of = [](std::vector<Real> const& numbers, std::int64_t row) {
      return numbers[static_cast<std::size_t>(row)];
    };
    auto const cut = execution::cut_columns(space{}, columns);
    check<Real>(
        rows, columns, 1,
        [&](Real* sum) {
          return kernels::add_columns<Real>{dy.data(), sum, height, cut};
        },
        [&](std::int64_t row, std::int64_t column, int) { return dy[at(row, column)]; });
    check<Real>(
        rows, columns, 2,
        [&](Real* sum) {
          return kernels::norm_weights<Real>{x.data(), mean.data(), rstd.data(), dy.data(),
                                             sum,      sum + width, height,      cut};
        },
        [&](std::int64_t row, std::int64_t column, int which) {
          Real const along = dy[at(row, column)] * ((x[at(row, column)] - of(mean, row)) * of(rstd, row));
          return which == 0 ? along : dy[at(row, column)];
        });
    check<Real>(
        rows, columns, 1,
        [&](Real* sum) { return kernels::rms_norm_weights<Real>{x.data(), rstd.data(), dy.data(), sum, height, cut}; },
        [&](std::int64_t row, std::int64_t column, int) {
          return dy[at(row, column)] * (x[at(row, column)] * of(rstd, row));
        });
  }
}

TEST_CASE_TEMPLATE("embedding scatter: teams give the bits of one walk over all tokens", Real, float, double) {
  constexpr std::int64_t vocabulary = 50;
  for (auto const& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {40, 5}, {300, 41}}) {
    CAPTURE(rows);
    auto const grad = normal_numbers<Real>(static_cast<std::size_t>(rows * columns), 1);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      ids[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r % 3 == 0 ? 7 : r * r % vocabulary);
    auto const start = normal_numbers<Real>(static_cast<std::size_t>(vocabulary * columns), 2);
    auto wanted = start;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        wanted[static_cast<std::size_t>(ids[static_cast<std::size_t>(r)] * columns + c)] +=
            grad[static_cast<std::size_t>(r * columns + c)];
    auto found = start;
    weft::model::embedding_scatter::tokens(space{}, rows, columns, ids.data(), grad.data(), found.data());
    CHECK(same_bits(found, wanted));
    found = start;
    weft::model::embedding_scatter::tokens_in_teams<1>(space{}, rows, columns, ids.data(), grad.data(), found.data());
    CHECK(same_bits(found, wanted));
    found = start;
    using teams = kernels::scatter_teams<Real, 4, thread_team::member>;
    thread_team::run(static_cast<int>(rows), 4, teams::scratch_bytes + 8,
                     teams{ids.data(), grad.data(), found.data(), rows, columns});
    CHECK(same_bits(found, wanted));
  }
}

TEST_CASE("embedding scatter: positions are added up over sequences") {
  constexpr std::int64_t length = 6, sequences = 3, columns = 5;
  auto const grad = normal_numbers<float>(sequences * length * columns, 1);
  auto wanted = normal_numbers<float>(length * columns, 2);
  auto found = wanted;
  for (std::int64_t r = 0; r < sequences * length; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      wanted[static_cast<std::size_t>(r % length * columns + c)] += grad[static_cast<std::size_t>(r * columns + c)];
  weft::model::embedding_scatter::positions(space{}, sequences * length, columns, length, grad.data(), found.data());
  CHECK(same_bits(found, wanted));
}
