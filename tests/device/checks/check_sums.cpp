// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums have one order of additions on every backend, so their bits are those of plain loops on the host.
#include "models.hpp"

#include <weft/execution/reduce.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using device_checks::memory;
using device_checks::space;

/// Numbers whose sum depends on the order of addition.
std::vector<float> numbers(std::int64_t count) {
  std::vector<float> result;
  for (std::int64_t index = 0; index < count; ++index)
    result.push_back(static_cast<float>((index * 7919) % 1009) * 1.37e-3F - 0.6F + (index % 97 == 0 ? 1e6F : 0.0F));
  return result;
}

Kokkos::View<float*, memory> on_device(std::vector<float> const& values) {
  Kokkos::View<float*, memory> result("weft_test::numbers", values.size());
  Kokkos::deep_copy(
      result, Kokkos::View<float const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size()));
  return result;
}

}  // namespace

TEST_CASE("device sums: chunks of 4,096 in index order, to the bit") {
  for (std::int64_t const count : {0, 1, 4095, 4097, 65537, 300001}) {
    auto const values = numbers(count);
    double wanted = 0.0;
    for (std::int64_t begin = 0; begin < count; begin += 4096) {
      double chunk = 0.0;
      for (std::int64_t index = begin; index < (std::min)(begin + 4096, count); ++index)
        chunk += static_cast<double>(values[static_cast<std::size_t>(index)]);
      wanted += chunk;
    }
    CAPTURE(count);
    CHECK(weft::reduce(space(), on_device(values)) == wanted);
  }
}

TEST_CASE("device sums: norms by blocks of 65,536, to the bit") {
  for (std::int64_t const count : {1, 5000, 65536, 65537, 200000}) {
    auto const values = numbers(count);
    auto const blocks = static_cast<std::size_t>(weft::reduction::blocks_of(count));
    Kokkos::View<double*, memory> const found("weft_test::norms", blocks);
    weft::block_norms(space(), on_device(values).data(), count, found.data());
    Kokkos::fence();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
    for (std::size_t block = 0; block < blocks; ++block) {
      double wanted = 0.0;
      std::int64_t const first = static_cast<std::int64_t>(block) * 65536;
      for (std::int64_t begin = first; begin < (std::min)(first + 65536, count); begin += 4096) {
        double chunk = 0.0;
        for (std::int64_t index = begin; index < (std::min)({begin + 4096, first + 65536, count}); ++index) {
          double const value = static_cast<double>(values[static_cast<std::size_t>(index)]);
          chunk += value * value;
        }
        wanted += chunk;
      }
      CAPTURE(count);
      CAPTURE(block);
      CHECK(host(block) == wanted);
    }
  }
}
