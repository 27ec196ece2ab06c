// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Sums of columns over all rows, such as a bias's gradient: on a host a thread walks down some columns, on a device a
/// team has eight columns and sixty-four sums of each. A column functor is a named type with a label, `rows`, `cut`
/// (of its columns), for hosts
///
///     KOKKOS_INLINE_FUNCTION void operator()(std::int64_t piece) const;   // adds all rows, ascending, to its columns
///
/// and for devices `number`, `sums` (how many a column has), and
///
///     KOKKOS_INLINE_FUNCTION void add(std::int64_t row, std::int64_t column, number* to) const;  // to[which] += ...
///     KOKKOS_INLINE_FUNCTION number* target(int which) const;                                    // [columns]
///
/// A device adds row r to sum r % 64, rows ascending, folds the sums in halves and adds the result to the target: the
/// same bits every time and for every size of team, and others than a host's, as of products. No atomics.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::execution {

namespace detail {

/// A team of `Threads` threads; eight neighbouring ones read eight neighbouring columns.
template <class Functor, class Member, int Threads>
struct column_teams {
  using number = typename Functor::number;
  static constexpr char const* label = Functor::label;
  static constexpr int columns = 8;
  static constexpr int parts = 64;
  static constexpr int sums = Functor::sums;
  static constexpr std::size_t scratch_bytes = sizeof(number) * columns * parts * sums;
  Functor functor;

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    std::size_t const bytes = scratch_bytes;  // Kokkos takes a reference, and a device has no address of a constant
    number* const shared = static_cast<number*>(team.team_scratch(0).get_shmem_aligned(bytes, sizeof(double)));
    std::int64_t const first = static_cast<std::int64_t>(team.league_rank()) * columns;
    for (int item = team.team_rank(); item < columns * parts; item += Threads) {
      std::int64_t const column = first + item % columns;
      number sum[sums] = {};
      if (column < functor.cut.columns)
        for (std::int64_t row = item / columns; row < functor.rows; row += parts) functor.add(row, column, sum);
      WEFT_UNROLL
      for (int which = 0; which < sums; ++which) shared[which * columns * parts + item] = sum[which];
    }
    for (int half = parts / 2; half > 0; half /= 2) {
      team.team_barrier();
      for (int item = team.team_rank(); item < columns * half; item += Threads)
        for (int which = 0; which < sums; ++which)
          shared[which * columns * parts + item] += shared[which * columns * parts + item + columns * half];
    }
    team.team_barrier();
    for (int item = team.team_rank(); item < columns * sums; item += Threads) {
      std::int64_t const column = first + item % columns;
      int const which = item / columns;
      if (column < functor.cut.columns)
        functor.target(which)[column] += shared[which * columns * parts + item % columns];
    }
  }
};

}  // namespace detail

/// Launches a column functor as devices want it, with `Threads` threads a team. Hosts do it in tests alone. Does not
/// wait; does not communicate.
template <int Threads, class Space, class Functor>
void for_each_column_in_teams(Space const& space, Functor const& functor) {
  if (functor.rows <= 0 || functor.cut.columns <= 0) return;
  using teams = detail::column_teams<Functor, typename Kokkos::TeamPolicy<Space>::member_type, Threads>;
  Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Threads>> policy(
      space, static_cast<int>((functor.cut.columns + teams::columns - 1) / teams::columns), Threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(teams::scratch_bytes + sizeof(double))));
  launch(policy, functor.cut.columns, teams{functor});
}

/// Launches a column functor as its space wants it. Does not wait; does not communicate.
template <class Space, class Functor>
void for_each_column(Space const& space, Functor const& functor) {
  if constexpr (is_host_space<Space>) {
    for_each(space, functor.cut.pieces(), functor);
  } else {
    for_each_column_in_teams<512>(space, functor);
  }
}

}  // namespace weft::inline v1::execution
