// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::reduction {

/// Sums as reduce.hpp's, chunks of 4,096 numbers one after the other, by a team for each sixteen chunks: all threads
/// read 32 neighbouring numbers of each chunk into scratch, then a thread for each chunk adds them up in order. One
/// thread a chunk alone would read memory 4,096 numbers apart from its neighbours'. The next numbers are on their way
/// meanwhile.
///
/// IsSquares: result[b] = sum of squares of block b, the chunks' sums in order. Else: result[c] = sum of chunk c.
template <class Real, bool IsSquares, int Threads, class Member>
struct chunk_teams {
  static constexpr char const* label = "weft::reduce_teams";
  static constexpr std::int64_t chunk = 4096;
  static constexpr int chunks = 16;
  static constexpr int width = 32;
  static constexpr int leading = width + 1;  // threads that read a column meet different banks
  static constexpr int each = chunks * width / Threads;
  static constexpr std::size_t scratch_bytes = chunks * leading * sizeof(double);
  Real const* data;
  std::int64_t elements;
  double* result;

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    std::size_t const bytes = scratch_bytes;  // Kokkos takes a reference, and a device has no address of a constant
    double* const shared = static_cast<double*>(team.team_scratch(0).get_shmem_aligned(bytes, sizeof(double)));
    int const rank = team.team_rank();
    std::int64_t const begin = static_cast<std::int64_t>(team.league_rank()) * chunks * chunk;
    double sum[chunks] = {};  // of which a device's thread has one
    double next[each];
    load(begin, rank, 0, next);
    for (std::int64_t from = 0; from < chunk; from += width) {
      WEFT_UNROLL
      for (int k = 0; k < each; ++k) {
        int const item = rank + k * Threads;
        shared[item / width * leading + item % width] = next[k];
      }
      team.team_barrier();
      if (from + width < chunk) load(begin, rank, from + width, next);
      if constexpr (Threads >= chunks) {
        if (rank < chunks) add(shared + rank * leading, sum[0]);
      } else {
        for (int which = rank; which < chunks; which += Threads) add(shared + which * leading, sum[which]);
      }
      team.team_barrier();
    }
    for (int which = rank; which < chunks; which += Threads) shared[which] = Threads >= chunks ? sum[0] : sum[which];
    team.team_barrier();
    if constexpr (IsSquares) {
      if (rank != 0) return;
      double total = 0.0;
      for (int which = 0; which < chunks; ++which) total += shared[which];
      result[team.league_rank()] = total;
    } else {
      for (int which = rank; which < chunks; which += Threads)
        if (begin + which * chunk < elements) result[team.league_rank() * chunks + which] = shared[which];
    }
  }

 private:
  /// Zeros past the end: added to a sum that began with zero, they change no bit.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t begin, int rank, std::int64_t from, double* next) const {
    WEFT_UNROLL
    for (int k = 0; k < each; ++k) {
      int const item = rank + k * Threads;
      std::int64_t const at = begin + item / width * chunk + from + item % width;
      double const value = at < elements ? static_cast<double>(data[at]) : 0.0;
      next[k] = IsSquares ? value * value : value;
    }
  }
  static KOKKOS_FORCEINLINE_FUNCTION void add(double const* row, double& sum) {
    for (int index = 0; index < width; ++index) sum += row[index];
  }
};

/// Launches it for all of `elements`. Hosts do it in tests alone. Does not wait; does not communicate.
template <bool IsSquares, int Threads, class Space, class Real>
void sum_in_teams(Space const& space, Real const* data, std::int64_t elements, double* result) {
  if (elements <= 0) return;
  using teams = chunk_teams<Real, IsSquares, Threads, typename Kokkos::TeamPolicy<Space>::member_type>;
  constexpr std::int64_t together = teams::chunks * teams::chunk;
  Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Threads>> policy(
      space, static_cast<int>((elements + together - 1) / together), Threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(teams::scratch_bytes + sizeof(double))));
  execution::launch(policy, elements, teams{data, elements, result});
}

}  // namespace weft::inline v1::reduction
