// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/blas.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using weft::blas::transpose;

template <class Real>
std::vector<Real> fill(std::size_t count, int salt) {
  std::vector<Real> result(count);
  for (std::size_t index = 0; index < count; ++index)
    result[index] =
        static_cast<Real>(static_cast<int>((index * 31 + static_cast<std::size_t>(salt)) % 17) - 8) * Real(0.25);
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("blas: row-major products with leading dimensions, transposes and batches", Real, float, double) {
  constexpr int rows = 5;
  constexpr int columns = 7;
  constexpr int depth = 3;
  constexpr int batch = 2;
  constexpr int leading = 11;
  constexpr int stride = 101;
  auto const a = fill<Real>(2 * stride, 1);
  auto const b = fill<Real>(2 * stride, 2);
  auto const before = fill<Real>(2 * stride, 3);
  weft::blas::handle<space> state;
  for (auto const trans_a : {transpose::no, transpose::yes})
    for (auto const trans_b : {transpose::no, transpose::yes}) {
      auto c = before;
      weft::blas::gemm_batched<space, Real>(state, trans_a, trans_b, rows, columns, depth, Real(2),
                                            {a.data(), leading, stride}, {b.data(), leading, stride}, Real(0.5),
                                            {c.data(), leading, stride}, batch);
      auto wanted = before;
      for (int m = 0; m < batch; ++m)
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j) {
            double sum = 0.0;
            for (int k = 0; k < depth; ++k) {
              int const at = trans_a == transpose::yes ? k * leading + i : i * leading + k;
              int const bt = trans_b == transpose::yes ? j * leading + k : k * leading + j;
              sum += static_cast<double>(a[static_cast<std::size_t>(m * stride + at)]) *
                     static_cast<double>(b[static_cast<std::size_t>(m * stride + bt)]);
            }
            auto& out = wanted[static_cast<std::size_t>(m * stride + i * leading + j)];
            out = static_cast<Real>(2.0 * sum + 0.5 * static_cast<double>(out));
          }
      CHECK(c == wanted);  // small multiples of powers of two: exact; what lies between the rows is untouched
    }
}

TEST_CASE_TEMPLATE("blas: with beta 0 the old result is not read", Real, float, double) {
  auto const a = fill<Real>(4, 1);
  std::vector<Real> c(4, std::numeric_limits<Real>::quiet_NaN());
  weft::blas::handle<space> state;
  weft::blas::gemm<space, Real>(state, transpose::no, transpose::no, 2, 2, 2, Real(1), {a.data(), 2}, {a.data(), 2},
                                Real(0), {c.data(), 2});
  for (Real const value : c) CHECK_FALSE(std::isnan(value));
}

TEST_CASE("blas: empty products are not asked for, and absurd ones are refused") {
  weft::blas::handle<space> state;
  float one = 1.0F;
  weft::blas::gemm<space, float>(state, transpose::no, transpose::no, 0, 1, 1, 1.0F, {&one, 1}, {&one, 1}, 0.0F,
                                 {&one, 1});
  CHECK(one == 1.0F);
  CHECK_THROWS_WITH_AS(
      (weft::blas::gemm<space, float>(state, transpose::no, transpose::no, 3000000000LL, 1, 1, 1.0F, {&one, 1},
                                      {&one, 1}, 0.0F, {&one, 1})),
      "weft::blas: the number of rows is 3000000000, which 32-bit BLAS cannot take; cut the micro-batch smaller",
      weft::error);
}
