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

TEST_CASE_TEMPLATE("blas: factors of 16 bits are added up in float, and the result is rounded once", Real,
                   weft::bfloat16, weft::float16) {
  constexpr int rows = 5;
  constexpr int columns = 7;
  constexpr int leading = 11;
  constexpr int stride = 80;  // seven rows of eleven, and three
  auto const numbers = [](std::size_t count, int salt) {
    std::vector<Real> made;
    for (float const each : fill<float>(count, salt)) made.push_back(Real(each));
    return made;
  };
  auto const a = numbers(2 * stride, 1);
  auto const b = numbers(2 * stride, 2);
  auto const before = numbers(2 * stride, 3);
  std::vector<float> const float_before = fill<float>(2 * stride, 3);
  weft::blas::handle<space> state;
  for (auto const trans_a : {transpose::no, transpose::yes})
    for (auto const trans_b : {transpose::no, transpose::yes})
      for (int const depth : {0, 4}) {
        auto c = before;
        auto sums = float_before;
        weft::blas::gemm_batched<space, Real>(state, trans_a, trans_b, rows, columns, depth, 2,
                                              {a.data(), leading, stride}, {b.data(), leading, stride}, 0.5F,
                                              {c.data(), leading, stride}, 2);
        weft::blas::gemm_batched<space, Real, float>(state, trans_a, trans_b, rows, columns, depth, 2,
                                                     {a.data(), leading, stride}, {b.data(), leading, stride}, 0.5F,
                                                     {sums.data(), leading, stride}, 2);
        int wrong = 0;
        for (std::size_t at = 0; at < c.size(); ++at) {
          std::size_t const m = at / stride;
          std::size_t const i = at % stride / leading;
          std::size_t const j = at % stride % leading;
          float wanted = float_before[at];
          if (i < rows && j < columns) {
            float sum = 0.0F;  // exact: small multiples of 1/16
            for (std::size_t k = 0; k < static_cast<std::size_t>(depth); ++k)
              sum +=
                  static_cast<float>(a[m * stride + (trans_a == transpose::yes ? k * leading + i : i * leading + k)]) *
                  static_cast<float>(b[m * stride + (trans_b == transpose::yes ? j * leading + k : k * leading + j)]);
            wanted = 2.0F * sum + 0.5F * wanted;
          }
          wrong += sums[at] != wanted;
          wrong += c[at].bits != Real(wanted).bits;
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("blas: pieces of a large product of 16 bits are the pieces of the product") {
  // A piece holds 2^20 numbers of a factor: three pieces of rows and two of columns here.
  constexpr std::int64_t depth = 4096;
  constexpr std::int64_t rows = 600;
  constexpr std::int64_t columns = 300;
  std::vector<weft::bfloat16> a;
  std::vector<weft::bfloat16> b;
  for (float const each : fill<float>(rows * depth, 1)) a.push_back(weft::bfloat16(each));
  for (float const each : fill<float>(columns * depth, 2)) b.push_back(weft::bfloat16(each));
  std::vector<float> c(rows * columns, std::numeric_limits<float>::quiet_NaN());
  weft::blas::handle<space> state;
  weft::blas::gemm<space, weft::bfloat16, float>(state, transpose::no, transpose::yes, rows, columns, depth, 1,
                                                 {a.data(), depth}, {b.data(), depth}, 0, {c.data(), columns});
  for (std::int64_t const i : {0, 255, 256, 511, 512, 599})
    for (std::int64_t const j : {0, 255, 256, 299}) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(i * depth + k)])) *
               static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(j * depth + k)]));
      CHECK(static_cast<double>(c[static_cast<std::size_t>(i * columns + j)]) == sum);
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
