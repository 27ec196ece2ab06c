// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

WEFT_LOOPS_BEGIN
namespace weft::inline v1::model {

namespace kernels {

/// turns[position][0][pair] = cos, [1][pair] = sin of position / theta^(pair / pairs). Frequency and angle are rounded
/// to Real, as the implementations that others train with round them.
template <class Real>
struct rotary_turns {
  static constexpr char const* label = "weft::rotary_turns";
  Real* turns;
  double log_theta;
  std::int64_t pairs;
  execution::column_cut positions;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const pair = positions.row_of(item);
    std::int64_t const end = positions.end(positions.piece_of(item));
    Real const frequency =
        static_cast<Real>(math::exp(-log_theta * (static_cast<double>(pair) / static_cast<double>(pairs))));
    for (std::int64_t position = positions.begin(positions.piece_of(item)); position < end; ++position) {
      Real const angle = static_cast<Real>(position) * frequency;
      turns[2 * position * pairs + pair] = math::cos(angle);
      turns[(2 * position + 1) * pairs + pair] = math::sin(angle);
    }
  }
};

/// Turns the first `heads` heads of each row, in place; backwards for gradients.
template <class Real, bool IsBackwards>
struct rotary_apply {
  static constexpr char const* label = IsBackwards ? "weft::rotary_backward" : "weft::rotary";
  Real* rows;
  execution::wide<Real> const* turns;
  std::int64_t row;     ///< distance of two rows
  std::int64_t heads;   ///< to turn, 2 pairs wide each
  std::int64_t length;  ///< rows of a sequence
  execution::column_cut pairs;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const piece = pairs.piece_of(item);
    std::int64_t const row_of_heads = pairs.row_of(item);
    std::int64_t const token = execution::divide(row_of_heads, heads);
    std::int64_t const head = row_of_heads - token * heads;
    std::int64_t const position = token - execution::divide(token, length) * length;
    std::int64_t const begin = pairs.begin(piece);
    std::int64_t const end = pairs.end(piece);
    execution::wide<Real> const* WEFT_RESTRICT const cosine = turns + 2 * position * pairs.columns;
    execution::wide<Real> const* WEFT_RESTRICT const sine = cosine + pairs.columns;
    Real* WEFT_RESTRICT const first = rows + token * row + 2 * head * pairs.columns;
    Real* WEFT_RESTRICT const second = first + pairs.columns;
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) {
      execution::wide<Real> const x = execution::widen(first[c]);
      execution::wide<Real> const y = execution::widen(second[c]);
      if constexpr (IsBackwards) {
        first[c] = static_cast<Real>(x * cosine[c] + y * sine[c]);
        second[c] = static_cast<Real>(y * cosine[c] - x * sine[c]);
      } else {
        first[c] = static_cast<Real>(x * cosine[c] - y * sine[c]);
        second[c] = static_cast<Real>(y * cosine[c] + x * sine[c]);
      }
    }
  }
};

}  // namespace kernels

/// Rotary positions (Su et al. 2021) in Hugging Face's form: number c of a head's first half and number c of its second
/// half are a point in the plane, turned by position / theta^(c / half). No parameters; the head width is even.
/// Products of a turned query and a turned key depend on how far apart they are, not on where.
struct rotary {
  /// Numbers in the table of turns, floats where numbers have 16 bits.
  static constexpr std::int64_t turns_elements(extents size, std::int64_t head_width) {
    return size.sequence_length * head_width;
  }

  /// Fills the table for the context's sequence length; a layer keeps it from F to backward.
  template <class Real, class Space>
  static void make_turns(layer_context<Real, Space> const& context, std::int64_t head_width, double theta,
                         execution::wide<Real>* turns) {
    std::int64_t const pairs = head_width / 2;
    auto const cut = execution::cut_row<Space>(context.size.sequence_length);
    execution::for_each(context.space(), pairs * cut.pieces(),
                        kernels::rotary_turns<execution::wide<Real>>{turns, std::log(theta), pairs, cut});
  }

  /// Turns the first `heads` heads of every token's row [row] in place.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t row, std::int64_t heads,
                      std::int64_t head_width, execution::wide<Real> const* turns, Real* rows) {
    apply<false>(context, row, heads, head_width, turns, rows);
  }

  /// The gradient of what was turned, in place of the gradient of what came out: turned back.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, std::int64_t row, std::int64_t heads,
                       std::int64_t head_width, execution::wide<Real> const* turns, Real* grad_rows) {
    apply<true>(context, row, heads, head_width, turns, grad_rows);
  }

 private:
  template <bool IsBackwards, class Real, class Space>
  static void apply(layer_context<Real, Space> const& context, std::int64_t row, std::int64_t heads,
                    std::int64_t head_width, execution::wide<Real> const* turns, Real* rows) {
    auto const cut = execution::cut_row<Space>(head_width / 2);
    execution::for_each(
        context.space(), context.tokens() * heads * cut.pieces(),
        kernels::rotary_apply<Real, IsBackwards>{rows, turns, row, heads, context.size.sequence_length, cut});
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
