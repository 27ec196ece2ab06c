// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/run_collective.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::inline v1::train {

/// Adds up a mixed (bits, index) of every element, modulo 2^64: equal for equal bits in any order of additions, and
/// another number where one element differs; where several do, equal by one chance in 2^64.
template <class Real>
struct digest_kernel {
  static_assert(sizeof(Real) == 4 || sizeof(Real) == 8);
  using bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

  Real const* values;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index, std::uint64_t& sum) const {
    Real const number = values[index];
    bits pattern;
    memcpy(&pattern, &number, sizeof pattern);
    // splitmix64's finalizer (Steele, Lea and Flood, OOPSLA 2014)
    std::uint64_t mixed = pattern + 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(index) + 1U);
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    sum += mixed ^ (mixed >> 31U);
  }
};

/// Throws on all ranks of `data` unless they hold the same bits in every parameter and both its moments; names the
/// first parameter and the ranks that differ. Collective over `data`.
template <class Store, class Space>
void require_equal_replicas(transport::endpoint& data, Store const& store, Space const& space, std::int64_t step,
                            double deadline) {
  auto const& entries = store.entries();
  std::vector<std::uint64_t> mine;
  {
    auto const lock = data.launch_lock();
    auto const add = [&](auto const& view) {
      using real = typename std::decay_t<decltype(view)>::non_const_value_type;
      std::uint64_t sum = 0;
      Kokkos::parallel_reduce("weft::replica_digest",
                              Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                                  space, 0, static_cast<std::int64_t>(view.extent(0))),
                              digest_kernel<real>{view.data()}, sum);
      mine.push_back(sum);
    };
    for (auto const& each : entries) {
      add(store.value(each));
      add(store.first_moment(each));
      add(store.second_moment(each));
    }
    execution::fence(space, "weft::digest");
  }
  if (mine.empty()) return;
  auto const ranks = static_cast<std::size_t>(data.size());
  std::vector<std::uint64_t> all(ranks * mine.size());
  transport::all_gather(data, mine.data(), mine.size() * sizeof(std::uint64_t), all.data(), deadline);
  for (std::size_t index = 0; index < mine.size(); ++index)
    for (std::size_t other = 1; other < ranks; ++other)
      if (all[other * mine.size() + index] != all[index])
        throw error("weft::trainer: after step " + std::to_string(step) + " " + entries[index / 3].descriptor.name +
                    (index % 3 == 0 ? "" : " (its moments)") + " differs between rank " +
                    std::to_string(data.global_rank(0)) + " and rank " +
                    std::to_string(data.global_rank(static_cast<int>(other))) +
                    ", which hold replicas of one stage; a memory or transport error, or a collective that adds in "
                    "another order on every rank: go on from an earlier state");
}

}  // namespace weft::inline v1::train
