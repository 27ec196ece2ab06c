// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// grad_table[ids[r]] += grad[r], tokens r ascending: parallel over columns alone, so without atomics, and with the
/// same bits every time.
template <class Real>
struct scatter_rows {
  static constexpr char const* label = "weft::embedding_scatter";
  std::int32_t const* ids;
  Real const* grad;
  execution::wide<Real>* grad_table;
  std::int64_t rows;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t piece) const {
    std::int64_t const begin = cut.begin(piece);
    std::int64_t const end = cut.end(piece);
    for (std::int64_t r = 0; r < rows; ++r) {
      Real const* WEFT_RESTRICT const from = grad + r * cut.columns;
      execution::wide<Real>* WEFT_RESTRICT const to = grad_table + ids[r] * cut.columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) to[c] += execution::widen(from[c]);
    }
  }
};

/// The same by a team for each token, of which those work that are the first with their id: they look for it in all
/// that follow, and add the rows in the same order, so that bits are those of `scatter_rows`. The search costs
/// tokens^2 / 2 comparisons, a few microseconds of a device for 8,192 tokens.
template <class Real, int Threads, class Member>
struct scatter_teams {
  static constexpr char const* label = "weft::embedding_scatter_teams";
  static constexpr int bits = 32;
  static constexpr int held = 8;  ///< columns that a thread sums at once
  static constexpr std::size_t scratch_bytes = Threads * sizeof(std::uint32_t);
  std::int32_t const* ids;
  Real const* grad;
  execution::wide<Real>* grad_table;
  std::int64_t rows;
  std::int64_t columns;

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    std::size_t const bytes = scratch_bytes;
    std::uint32_t* const found =
        static_cast<std::uint32_t*>(team.team_scratch(0).get_shmem_aligned(bytes, sizeof(double)));
    std::int64_t const mine = team.league_rank();
    std::int32_t const id = ids[mine];
    execution::wide<Real>* const to = grad_table + id * columns;
    for (std::int64_t base = 0; base < columns; base += held * Threads) {
      execution::wide<Real> sum[held];
      WEFT_UNROLL
      for (int k = 0; k < held; ++k) {
        std::int64_t const c = base + k * Threads + team.team_rank();
        sum[k] = c < columns ? to[c] : execution::wide<Real>(0);
      }
      for (std::int64_t from = 0; from < rows; from += bits * Threads) {
        std::uint32_t mask = 0;  // which of this thread's 32 tokens have the id
        for (int bit = 0; bit < bits; ++bit) {
          std::int64_t const token = from + team.team_rank() * bits + bit;
          if (token < rows && ids[token] == id) mask |= std::uint32_t{1} << bit;
        }
        found[team.team_rank()] = mask;
        team.team_barrier();
        for (int word = 0; word < Threads; ++word) {
          std::uint32_t left = found[word];
          for (int bit = 0; left != 0; ++bit, left >>= 1) {
            if ((left & 1U) == 0) continue;
            std::int64_t const token = from + word * bits + bit;
            if (token < mine) return;  // another team's id; all threads see it
            WEFT_UNROLL
            for (int k = 0; k < held; ++k) {
              std::int64_t const c = base + k * Threads + team.team_rank();
              if (c < columns) sum[k] += execution::widen(grad[token * columns + c]);
            }
          }
        }
        team.team_barrier();
      }
      WEFT_UNROLL
      for (int k = 0; k < held; ++k) {
        std::int64_t const c = base + k * Threads + team.team_rank();
        if (c < columns) to[c] = sum[k];
      }
    }
  }
};

/// grad_table[r % length] += grad[r], sequences ascending.
template <class Real>
struct add_positions {
  static constexpr char const* label = "weft::embedding_positions_gradient";
  Real const* grad;
  execution::wide<Real>* grad_table;
  std::int64_t rows;
  std::int64_t length;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const position = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    execution::wide<Real>* WEFT_RESTRICT const to = grad_table + position * cut.columns;
    for (std::int64_t r = position; r < rows; r += length) {
      Real const* WEFT_RESTRICT const from = grad + r * cut.columns;
      WEFT_INDEPENDENT
      for (std::int64_t c = begin; c < end; ++c) to[c] += execution::widen(from[c]);
    }
  }
};

}  // namespace kernels

/// Adds rows [rows][columns] of gradients to the rows of a table that they came from, always in the same order.
struct embedding_scatter {
  /// Row r belongs to ids[r].
  template <class Real, class Space>
  static void tokens(Space const& space, std::int64_t rows, std::int64_t columns, std::int32_t const* ids,
                     Real const* grad, execution::wide<Real>* grad_table) {
    if constexpr (execution::is_host_space<Space>) {
      auto const cut = execution::cut_columns(space, columns);
      execution::for_each(space, cut.pieces(), kernels::scatter_rows<Real>{ids, grad, grad_table, rows, cut});
    } else {
      tokens_in_teams<128>(space, rows, columns, ids, grad, grad_table);
    }
  }

  /// As devices do it; hosts in tests alone.
  template <int Threads, class Real, class Space>
  static void tokens_in_teams(Space const& space, std::int64_t rows, std::int64_t columns, std::int32_t const* ids,
                              Real const* grad, execution::wide<Real>* grad_table) {
    if (rows <= 0) return;
    using teams = kernels::scatter_teams<Real, Threads, typename Kokkos::TeamPolicy<Space>::member_type>;
    Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Threads>> policy(space, static_cast<int>(rows), Threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(teams::scratch_bytes + sizeof(double))));
    execution::launch(policy, rows, teams{ids, grad, grad_table, rows, columns});
  }

  /// Row r belongs to position r % length.
  template <class Real, class Space>
  static void positions(Space const& space, std::int64_t rows, std::int64_t columns, std::int64_t length,
                        Real const* grad, execution::wide<Real>* grad_table) {
    auto const cut = execution::cut_row<Space>(columns);
    std::int64_t const there = rows < length ? rows : length;
    execution::for_each(space, there * cut.pieces(), kernels::add_positions<Real>{grad, grad_table, rows, length, cut});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
