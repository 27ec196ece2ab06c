// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the kernels of fused attention share: how a team of threads loads tiles into scratch and multiplies them.
///
/// A team's work is cut into 128 parts in a grid of 16 x 8; each has some rows of a tile, and of its columns as many as
/// come to an eighth. A device has a thread for each part; a smaller team's threads have several each, and the order of
/// every addition is the same.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/attention_shape.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::model::attention_detail {

inline constexpr int row_parts = 16;
inline constexpr int column_parts = 8;
inline constexpr int parts = row_parts * column_parts;

/// Rows are queries, or keys where gradients of keys and values are summed; the other side comes in tiles of `across`.
struct tile_sizes {
  int rows;
  int across;
};

/// Scratch of a team, with room for what Kokkos itself wants of the 48 KiB that every device has.
inline constexpr std::size_t scratch_limit = 46000;

/// Numbers in scratch for tiles of `sizes`: `held` tiles of rows and one of the other side, both a head wide, one
/// rows x across, and `column_parts` numbers a row. A row is one number longer than it is wide, so that threads that
/// read a column meet different banks.
constexpr std::size_t scratch_numbers(tile_sizes sizes, int width, int held) {
  return static_cast<std::size_t>((held * sizes.rows + sizes.across) * (width + 1) + sizes.rows * (sizes.across + 1) +
                                  sizes.rows * column_parts);
}

/// The largest tiles that fit; {0, 0} where none do.
constexpr tile_sizes choose_tiles(std::size_t number_bytes, int width, int held, int most_rows) {
  constexpr tile_sizes candidates[] = {{64, 32}, {32, 32}, {32, 16}, {16, 16}, {16, 8}};
  for (tile_sizes const sizes : candidates)
    if (sizes.rows <= most_rows && scratch_numbers(sizes, width, held) * number_bytes <= scratch_limit) return sizes;
  return {0, 0};
}

/// What a call is about, in numbers that kernels carry.
struct problem {
  attention_shape shape;
  std::int64_t length;
  double scale;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t tiles(int rows) const { return (length + rows - 1) / rows; }
};

/// Whole groups of columns, so that each of `column_parts` has as many.
constexpr int pad(std::int64_t width) {
  return static_cast<int>((width + column_parts - 1) / column_parts * column_parts);
}

/// `Rows` rows [Rows][Width + 1] in scratch from rows of `stride` numbers in memory; zeros past `width` and past
/// `there` rows.
template <int Rows, int Width, int Threads, class Real, class Number>
KOKKOS_FORCEINLINE_FUNCTION void load_tile(int rank, Real const* from, std::int64_t stride, std::int64_t there,
                                           std::int64_t width, Number* to) {
  for (int item = rank; item < Rows * Width; item += Threads) {
    int const row = item / Width;
    int const column = item % Width;
    bool const is_there = row < there && column < width;
    to[row * (Width + 1) + column] = is_there ? execution::widen(from[row * stride + column]) : static_cast<Number>(0);
  }
}

/// sum[i][j] = row i of `left` times row j of `right`, both of length Width with room for one more.
template <int Width, int Rows, int Columns, class Number>
KOKKOS_FORCEINLINE_FUNCTION void multiply_rows(Number const* left, Number const* right, Number (&sum)[Rows][Columns]) {
  WEFT_UNROLL
  for (int i = 0; i < Rows; ++i) WEFT_UNROLL
  for (int j = 0; j < Columns; ++j) sum[i][j] = Number(0);
  for (int c = 0; c < Width; ++c) {
    Number column[Columns];
    WEFT_UNROLL
    for (int j = 0; j < Columns; ++j) column[j] = right[j * (Width + 1) + c];
    WEFT_UNROLL
    for (int i = 0; i < Rows; ++i) {
      Number const row = left[i * (Width + 1) + c];
      WEFT_UNROLL
      for (int j = 0; j < Columns; ++j) sum[i][j] = math::multiply_add(row, column[j], sum[i][j]);
    }
  }
}

/// sum[i][j] += weights[i] times column j * 8 of `values`: weights are rows [Across + 1], values rows [Width + 1].
template <int Across, int Width, int Rows, int Columns, class Number>
KOKKOS_FORCEINLINE_FUNCTION void add_weighted(Number const* weights, Number const* values,
                                              Number (&sum)[Rows][Columns]) {
  for (int k = 0; k < Across; ++k) {
    Number column[Columns];
    WEFT_UNROLL
    for (int j = 0; j < Columns; ++j) column[j] = values[k * (Width + 1) + j * column_parts];
    WEFT_UNROLL
    for (int i = 0; i < Rows; ++i) {
      Number const weight = weights[i * (Across + 1) + k];
      WEFT_UNROLL
      for (int j = 0; j < Columns; ++j) sum[i][j] = math::multiply_add(weight, column[j], sum[i][j]);
    }
  }
}

/// Where a team's scratch lies: on devices, whose teams have a thread a part, near its threads. Hosts, who run these
/// kernels in tests, have no more than 32 KiB there.
template <int Threads>
inline constexpr int scratch_level = Threads == parts ? 0 : 1;

/// A team's scratch as numbers.
template <int Threads, class Number, class Member>
KOKKOS_FORCEINLINE_FUNCTION Number* scratch_of(Member const& team, std::size_t numbers) {
  std::size_t const bytes = numbers * sizeof(Number);  // Kokkos takes references, and a device has none to a constant
  int const level = scratch_level<Threads>;
  return static_cast<Number*>(team.team_scratch(level).get_shmem_aligned(bytes, sizeof(double)));
}

}  // namespace weft::inline v1::model::attention_detail
