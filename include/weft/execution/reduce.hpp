// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Sums whose bits are the same on every backend and with every number of threads: elements are added one after the
/// other, in double, within chunks of 4,096, and then the chunks, in index order. What the parallelism is over (chunks)
/// is thereby fixed, whoever computes them.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduce_team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1 {

namespace reduction {

inline constexpr std::int64_t chunk_elements = 4096;

/// Norms are sums over blocks of the *logical* tensor, so that no cut over ranks can change them.
inline constexpr std::int64_t block_elements = 65536;
static_assert(block_elements == 16 * chunk_elements, "a team of chunk_teams has a block");

KOKKOS_INLINE_FUNCTION constexpr std::int64_t chunks_of(std::int64_t elements) {
  return (elements + chunk_elements - 1) / chunk_elements;
}
KOKKOS_INLINE_FUNCTION constexpr std::int64_t blocks_of(std::int64_t elements) {
  return (elements + block_elements - 1) / block_elements;
}

/// partial[c] = sum of chunk c.
template <class Real>
struct sum_chunks {
  static constexpr char const* label = "weft::reduce_chunks";
  Real const* data;
  std::int64_t elements;
  double* partial;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t chunk) const {
    std::int64_t const begin = chunk * chunk_elements;
    std::int64_t const end = begin + chunk_elements < elements ? begin + chunk_elements : elements;
    double sum = 0.0;
    for (std::int64_t index = begin; index < end; ++index) sum += static_cast<double>(data[index]);
    partial[chunk] = sum;
  }
};

/// result[0] = the partial sums in order.
struct sum_partials {
  static constexpr char const* label = "weft::reduce_partials";
  double const* partial;
  std::int64_t count;
  double* result;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t) const {
    double sum = 0.0;
    for (std::int64_t index = 0; index < count; ++index) sum += partial[index];
    *result = sum;
  }
};

/// result[b] = sum of squares of block b: its chunks' sums in order. Four chunks are summed side by side, since one
/// chain of additions alone would wait for itself.
template <class Real>
struct square_blocks {
  static constexpr char const* label = "weft::block_norms";
  Real const* data;
  std::int64_t elements;
  double* result;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t block) const {
    std::int64_t const begin = block * block_elements;
    std::int64_t const end = begin + block_elements < elements ? begin + block_elements : elements;
    double sum = 0.0;
    std::int64_t at = begin;
    for (; at + 4 * chunk_elements <= end; at += 4 * chunk_elements) {
      double side[4] = {0.0, 0.0, 0.0, 0.0};
      for (std::int64_t index = at; index < at + chunk_elements; ++index) {
        for (int chain = 0; chain < 4; ++chain) {
          double const value = static_cast<double>(data[index + chain * chunk_elements]);
          side[chain] += value * value;
        }
      }
      for (int chain = 0; chain < 4; ++chain) sum += side[chain];
    }
    for (; at < end; at += chunk_elements) {
      std::int64_t const stop = at + chunk_elements < end ? at + chunk_elements : end;
      double one = 0.0;
      for (std::int64_t index = at; index < stop; ++index) {
        double const value = static_cast<double>(data[index]);
        one += value * value;
      }
      sum += one;
    }
    result[block] = sum;
  }
};

}  // namespace reduction

/// *result = sum of `elements` numbers at `data`; `partial` has room for reduction::chunks_of(elements) doubles. All
/// three in Space's memory. Does not wait; does not communicate.
template <class Space, class Real>
void reduce_into(Space const& space, Real const* data, std::int64_t elements, double* partial, double* result) {
  std::int64_t const chunks = reduction::chunks_of(elements);
  if constexpr (execution::is_host_space<Space>) {
    execution::for_each(space, chunks, reduction::sum_chunks<Real>{data, elements, partial});
  } else {
    reduction::sum_in_teams<false, 128>(space, data, elements, partial);
  }
  execution::for_each(space, 1, reduction::sum_partials{partial, chunks, result});
}

/// Sum of a view's elements, on the host. Allocates and waits for `space`: for tests and start-up. A local sum: does
/// not communicate.
template <class Space, class View>
[[nodiscard]] double reduce(Space const& space, View const& values) {
  using memory = typename Space::memory_space;
  std::int64_t const elements = static_cast<std::int64_t>(values.extent(0));
  Kokkos::View<double*, memory> scratch("weft::reduce_scratch",
                                        static_cast<std::size_t>(reduction::chunks_of(elements) + 1));
  reduce_into(space, static_cast<typename View::const_value_type*>(values.data()), elements, scratch.data() + 1,
              scratch.data());
  auto const result = Kokkos::subview(scratch, 0);
  double host = 0.0;
  Kokkos::deep_copy(space, host, result);
  execution::fence(space, "weft::reduce");
  return host;
}

/// result[b] = sum of squares of elements [b * 65536, (b + 1) * 65536) of one logical tensor; `result` has room for
/// reduction::blocks_of(elements) doubles in Space's memory. Does not wait; does not communicate.
template <class Space, class Real>
void block_norms(Space const& space, Real const* data, std::int64_t elements, double* result) {
  if constexpr (execution::is_host_space<Space>) {
    execution::for_each(space, reduction::blocks_of(elements), reduction::square_blocks<Real>{data, elements, result});
  } else {
    reduction::sum_in_teams<true, 128>(space, data, elements, result);
  }
}

}  // namespace weft::inline v1
