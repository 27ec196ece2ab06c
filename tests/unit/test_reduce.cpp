// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "support/thread_team.hpp"

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

TEST_CASE("sums in teams, as devices make them: the bits of one thread a chunk") {
  for (std::int64_t const count : {1, 33, 4096, 5000, 65536, 65537 + 4096}) {
    CAPTURE(count);
    auto const values = numbers(count);
    auto const chunks = static_cast<std::size_t>(weft::reduction::chunks_of(count));
    auto const blocks = static_cast<std::size_t>(weft::reduction::blocks_of(count));
    std::vector<double> wanted(chunks + 1, -1.0);
    weft::execution::for_each(space(), static_cast<std::int64_t>(chunks),
                              weft::reduction::sum_chunks<float>{values.data(), count, wanted.data()});
    std::vector<double> wanted_squares(blocks + 1, -1.0);
    weft::block_norms(space(), values.data(), count, wanted_squares.data());
    std::vector<double> found(chunks + 1, -1.0);
    std::vector<double> squares(blocks + 1, -1.0);
    weft::reduction::sum_in_teams<false, 1>(space(), values.data(), count, found.data());
    weft::reduction::sum_in_teams<true, 1>(space(), values.data(), count, squares.data());
    CHECK(found == wanted);
    CHECK(squares == wanted_squares);
  }
}

TEST_CASE("sums in teams: threads of a team share the work and give the same bits") {
  std::int64_t const count = 65536 + 5000;
  auto const values = numbers(count);
  std::vector<double> wanted(18 + 1, -1.0);
  weft::reduction::sum_in_teams<false, 1>(space(), values.data(), count, wanted.data());
  std::vector<double> found(18 + 1, -1.0);
  using sums = weft::reduction::chunk_teams<float, false, 32, thread_team::member>;
  thread_team::run(2, 32, sums::scratch_bytes + 8, sums{values.data(), count, found.data()});
  CHECK(found == wanted);
  std::vector<double> wanted_squares(2, -1.0);
  weft::block_norms(space(), values.data(), count, wanted_squares.data());
  std::vector<double> squares(2, -1.0);
  using norms = weft::reduction::chunk_teams<float, true, 4, thread_team::member>;
  thread_team::run(2, 4, norms::scratch_bytes + 8, norms{values.data(), count, squares.data()});
  CHECK(squares == wanted_squares);
}
