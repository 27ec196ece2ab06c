// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Kernels over rows, written once: on a host one thread has a row, on a device sixteen threads have it and read
/// neighbouring columns together. A row functor is a named type with a label and
///
///     template <class Team>
///     KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t row) const;
///
/// that walks over its columns as `for (c = team.begin(0), end = team.end(columns); c < end; c += Team::stride)`, adds
/// by `team.sum`, and writes a row's single results where `team.leads()`. A thread has the same columns in every loop
/// (those that are its rank modulo the stride), so what it wrote it may read again without a barrier; another thread's
/// columns it may not. All rows must ask for the same sums, in the same order: some threads of a team may have no row,
/// run along with empty loops, and meet the others there.
///
/// Sums are those of `lanes`, whoever adds: bits depend neither on the backend nor on the number of threads.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/lanes.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::execution {

/// The team of one, for which a row functor's loops are plain loops.
struct one_thread {
  static constexpr int stride = 1;

  static KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin(std::int64_t from) { return from; }
  static KOKKOS_FORCEINLINE_FUNCTION std::int64_t end(std::int64_t to) { return to; }
  static KOKKOS_FORCEINLINE_FUNCTION bool leads() { return true; }
  static KOKKOS_FORCEINLINE_FUNCTION bool owns(std::int64_t) { return true; }

  template <class Term>
  static KOKKOS_FORCEINLINE_FUNCTION auto sum(std::int64_t columns, Term const& term) {
    return lanes<decltype(term(std::int64_t{}))>::sum(columns, term);
  }
  template <class Real>
  static KOKKOS_FORCEINLINE_FUNCTION wide<Real> largest(std::int64_t columns, Real const* row) {
    return lanes<wide<Real>>::largest(columns, row);
  }
};

/// `Threads` threads of a Kokkos team, a power of two up to sixteen, that have one row.
template <int Threads, class Member>
class row_threads {
  static constexpr int count = lanes<double>::count;
  static_assert(Threads > 0 && count % Threads == 0, "weft::row_threads: the threads of a row do not divide 16");
  static constexpr int lanes_each = count / Threads;

 public:
  static constexpr int stride = Threads;
  /// Of team scratch for each row: partial sums, twice, so that one barrier a sum is enough.
  static constexpr std::size_t scratch_bytes = 2 * count * sizeof(double);

  KOKKOS_FORCEINLINE_FUNCTION row_threads(Member const& team, std::byte* scratch, bool is_there)
      : team_(team),
        scratch_(scratch),
        rank_(team.team_rank() % Threads),
        is_there_(is_there) {}

  /// The thread's first column from `from` on.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin(std::int64_t from) const {
    return from + (rank_ + Threads - from % Threads) % Threads;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t end(std::int64_t to) const { return is_there_ ? to : 0; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool leads() const { return is_there_ && rank_ == 0; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool owns(std::int64_t column) const {
    return is_there_ && column % Threads == rank_;
  }

  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION auto sum(std::int64_t columns, Term const& term) {
    using real = decltype(term(std::int64_t{}));
    real* const shared = next<real>();
    for (int l = rank_; l < count; l += Threads) {
      real lane = real(0);
      for (std::int64_t c = l; c < end(columns); c += count) lane += term(c);
      shared[l] = lane;
    }
    real all[count];
    collect(shared, all);
    return lanes<real>::fold_sum(all);
  }

  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION wide<Real> largest(std::int64_t columns, Real const* row) {
    using real = wide<Real>;
    real* const shared = next<real>();
    for (int l = rank_; l < count; l += Threads) {
      real lane = lanes<real>::bottom;
      for (std::int64_t c = l; c < end(columns); c += count) {
        real const value = widen(row[c]);
        lane = math::detail::choose(value > lane, value, lane);
      }
      shared[l] = lane;
    }
    real all[count];
    collect(shared, all);
    return lanes<real>::fold_largest(all);
  }

 private:
  /// Scratch that nobody reads any more: who read it last has since come to another barrier.
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION Real* next() {
    static_assert(sizeof(Real) <= sizeof(double));
    turn_ ^= 1;
    return reinterpret_cast<Real*>(scratch_ + static_cast<std::size_t>(turn_) * (scratch_bytes / 2));
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION void collect(Real const* shared, Real* all) const {
    team_.team_barrier();
    for (int l = 0; l < count; ++l) all[l] = shared[l];
  }

  Member const& team_;
  std::byte* scratch_;
  int rank_;
  int turn_ = 0;
  bool is_there_;
};

namespace detail {

template <class Functor>
struct row_alone {
  using index = std::int64_t;
  static constexpr char const* label = Functor::label;
  Functor functor;

  KOKKOS_INLINE_FUNCTION void operator()(index row) const {
    one_thread team;
    functor(team, row);
  }
};

/// `Rows` rows a team, `Threads` threads each.
template <class Functor, class Member, int Threads, int Rows>
struct row_teams {
  using threads = row_threads<Threads, Member>;
  static constexpr char const* label = Functor::label;
  static constexpr std::size_t scratch_bytes = Rows * threads::scratch_bytes;
  Functor functor;
  std::int64_t rows;

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    int const group = team.team_rank() / Threads;
    std::int64_t const row = static_cast<std::int64_t>(team.league_rank()) * Rows + group;
    std::size_t const bytes = scratch_bytes;  // Kokkos takes a reference, and a device has no address of a constant
    std::byte* const scratch = static_cast<std::byte*>(team.team_scratch(0).get_shmem_aligned(bytes, sizeof(double)));
    threads own(team, scratch + static_cast<std::size_t>(group) * threads::scratch_bytes, row < rows);
    functor(own, row < rows ? row : rows - 1);
  }
};

}  // namespace detail

/// Launches a row functor with `Rows` rows a team and `Threads` threads a row. Hosts do it in tests alone. Does not
/// wait; does not communicate.
template <int Threads, int Rows, class Space, class Functor>
void for_each_row_in_teams(Space const& space, std::int64_t rows, Functor const& functor) {
  if (rows <= 0) return;
  using teams = detail::row_teams<Functor, typename Kokkos::TeamPolicy<Space>::member_type, Threads, Rows>;
  Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Threads * Rows>> policy(
      space, static_cast<int>((rows + Rows - 1) / Rows), Threads * Rows);
  // a few bytes more than asked, since Kokkos may align the start
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(teams::scratch_bytes + sizeof(double))));
  launch(policy, rows, teams{functor, rows});
}

/// Launches a row functor as its space wants it: a thread a row on hosts, teams of eight rows on devices. Does not
/// wait; does not communicate.
template <class Space, class Functor>
void for_each_row(Space const& space, std::int64_t rows, Functor const& functor) {
  if constexpr (is_host_space<Space>) {
    for_each(space, rows, detail::row_alone<Functor>{functor});
  } else {
    for_each_row_in_teams<lanes<double>::count, 8>(space, rows, functor);
  }
}

}  // namespace weft::inline v1::execution
