// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Products of 16-bit factors on a host, piece by piece through float: right, the same bits every time, and slow. For
/// tests, and for host ranks of a job whose devices compute in 16 bits.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::blas::detail {

/// Room for a piece of each matrix; grows to the largest product and stays.
struct float_pieces {
  std::vector<float> left;
  std::vector<float> right;
  std::vector<float> out;

  static float* room(std::vector<float>& of, std::int64_t elements) {
    if (of.size() < static_cast<std::size_t>(elements)) of.resize(static_cast<std::size_t>(elements));
    return of.data();
  }
};

struct product_shape {
  bool trans_a;
  bool trans_b;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

/// Elements of a piece of a factor, about.
inline constexpr std::int64_t piece_elements = std::int64_t{1} << 20;

constexpr std::int64_t piece_of(std::int64_t lines, std::int64_t depth) {
  std::int64_t const most = piece_elements / (depth > 0 ? depth : 1);
  return most < 1 ? 1 : most < lines ? most : lines;
}

template <class From, class To>
void convert_rows(From const* from, std::int64_t leading, std::int64_t rows, std::int64_t columns, To* to,
                  std::int64_t to_leading) {
  for (std::int64_t row = 0; row < rows; ++row) {
    From const* const source = from + row * leading;
    To* const target = to + row * to_leading;
    WEFT_INDEPENDENT
    for (std::int64_t c = 0; c < columns; ++c) target[c] = static_cast<To>(source[c]);
  }
}

/// `multiply(rows, columns, A, leading, B, leading, C, leading)` is called for pieces that hold the whole depth, so
/// that one product adds up each number; where the cuts lie depends on the shape alone.
template <class Real, class Out, class Multiply>
void multiply_pieces(float_pieces& pieces, product_shape const& shape, Real const* a, std::int64_t lda, Real const* b,
                     std::int64_t ldb, float beta, Out* c, std::int64_t ldc, Multiply const& multiply) {
  std::int64_t const depth = shape.depth;
  std::int64_t const height = piece_of(shape.rows, depth);
  std::int64_t const width = piece_of(shape.columns, depth);
  float* const left = float_pieces::room(pieces.left, height * depth + 1);
  float* const right = float_pieces::room(pieces.right, width * depth + 1);
  for (std::int64_t column = 0; column < shape.columns; column += width) {
    std::int64_t const wide = column + width < shape.columns ? width : shape.columns - column;
    std::int64_t const lead_right = shape.trans_b ? depth : wide;
    if (shape.trans_b)
      convert_rows(b + column * ldb, ldb, wide, depth, right, lead_right);
    else
      convert_rows(b + column, ldb, depth, wide, right, lead_right);
    for (std::int64_t row = 0; row < shape.rows; row += height) {
      std::int64_t const high = row + height < shape.rows ? height : shape.rows - row;
      std::int64_t const lead_left = shape.trans_a ? high : depth;
      if (shape.trans_a)
        convert_rows(a + row, lda, depth, high, left, lead_left);
      else
        convert_rows(a + row * lda, lda, high, depth, left, lead_left);
      Out* const target = c + row * ldc + column;
      auto const lead = [](std::int64_t value) { return static_cast<int>(value > 0 ? value : 1); };
      if constexpr (std::is_same_v<Out, float>) {
        multiply(static_cast<int>(high), static_cast<int>(wide), left, lead(lead_left), right, lead(lead_right), target,
                 lead(ldc));
      } else {
        float* const sums = float_pieces::room(pieces.out, high * wide);
        if (beta != 0.0F) convert_rows(target, ldc, high, wide, sums, wide);
        multiply(static_cast<int>(high), static_cast<int>(wide), left, lead(lead_left), right, lead(lead_right), sums,
                 lead(wide));
        convert_rows(sums, wide, high, wide, target, ldc);
      }
    }
  }
}

}  // namespace weft::inline v1::blas::detail
WEFT_LOOPS_END
