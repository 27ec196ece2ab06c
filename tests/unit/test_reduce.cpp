// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/reduce.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;

/// Numbers whose sum depends on the order of addition.
std::vector<float> numbers(std::int64_t count) {
  std::vector<float> result;
  for (std::int64_t index = 0; index < count; ++index)
    result.push_back(static_cast<float>((index * 7919) % 1009) * 1.37e-3F - 0.6F + (index % 97 == 0 ? 1e6F : 0.0F));
  return result;
}

}  // namespace

TEST_CASE("reduce: chunks of 4,096 in index order, in double") {
  for (std::int64_t const count : {0, 1, 4095, 4096, 4097, 12288, 65537, 300001}) {
    auto values = numbers(count);
    double wanted = 0.0;
    for (std::int64_t begin = 0; begin < count; begin += 4096) {
      double chunk = 0.0;
      for (std::int64_t index = begin; index < std::min(begin + 4096, count); ++index)
        chunk += static_cast<double>(values[static_cast<std::size_t>(index)]);
      wanted += chunk;
    }
    Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const view(values.data(), values.size());
    CAPTURE(count);
    CHECK(weft::reduce(space(), view) == wanted);
  }
}

TEST_CASE("reduce: the order is not the plain one, or the test above would be weak") {
  auto const values = numbers(300001);
  auto copy = values;
  double plain = 0.0;
  for (float const value : values) plain += static_cast<double>(value);
  Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const view(copy.data(), copy.size());
  CHECK(weft::reduce(space(), view) != plain);
  CHECK(weft::reduce(space(), view) == doctest::Approx(plain));
}

TEST_CASE("block_norms: sums of squares of 65,536 elements, each of chunks in order") {
  for (std::int64_t const count : {0, 1, 5000, 65536, 65537, 131072 + 16384 + 5, 200000}) {
    auto const values = numbers(count);
    std::int64_t const blocks = weft::reduction::blocks_of(count);
    std::vector<double> found(static_cast<std::size_t>(blocks) + 1, -1.0);
    weft::block_norms(space(), values.data(), count, found.data());
    CAPTURE(count);
    CHECK(blocks == (count + 65535) / 65536);
    for (std::int64_t block = 0; block < blocks; ++block) {
      double wanted = 0.0;
      for (std::int64_t begin = block * 65536; begin < std::min((block + 1) * 65536, count); begin += 4096) {
        double chunk = 0.0;
        for (std::int64_t index = begin; index < std::min(begin + 4096, count); ++index) {
          double const value = static_cast<double>(values[static_cast<std::size_t>(index)]);
          chunk += value * value;
        }
        wanted += chunk;
      }
      CHECK(found[static_cast<std::size_t>(block)] == wanted);
    }
    CHECK(found.back() == -1.0);
  }
}
