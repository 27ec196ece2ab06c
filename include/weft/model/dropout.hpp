// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/random.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model {

/// A dropout mask that is never stored: the factor (0 or 1 / (1 - rate)) of an element is a function of (seed, step,
/// layer, site, global sample, element), so backward and recompute make it again, bit for bit.
template <class Real>
struct dropout_mask {
  call_values const* now;   ///< seed, step and sample
  std::uint32_t place;      ///< layer * 4 + site
  std::uint32_t threshold;  ///< words below it drop their element
  Real keep;                ///< 1 / (1 - rate)

  /// Of `keys` rate and layer alone; the rest is read at `now`, in the execution space's memory.
  static dropout_mask make(dropout_keys const& keys, int site, call_values const* now) {
    return {now, static_cast<std::uint32_t>(keys.layer * 4 + site),
            static_cast<std::uint32_t>(keys.rate * 4294967296.0), static_cast<Real>(1.0 / (1.0 - keys.rate))};
  }

  /// The words of elements 4 * group .. 4 * group + 3 of one sample. Parameters draw from the same key with
  /// (group, 0, hash of the name) in these words: the same counter for both would take a name whose hash is this place
  /// and step, and only then would a mask repeat the numbers of an initial value.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION random::words draw(std::int64_t sequence, std::int64_t group) const {
    return random::philox(
        random::words{{static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(now->first_sample + sequence),
                       place | 0x80000000U, now->step}},
        now->key);
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Real factor(random::words const& drawn, std::int64_t element) const {
    // chosen, not indexed: a device keeps the four words in registers
    std::uint32_t const low = element % 2 == 0 ? drawn.word[0] : drawn.word[1];
    std::uint32_t const high = element % 2 == 0 ? drawn.word[2] : drawn.word[3];
    return (element % 4 < 2 ? low : high) < threshold ? Real(0) : keep;
  }
};

namespace kernels {

/// out = mask * in (+ residual), rows of `cut.columns` elements, `length` rows to a sequence. `in` may be `out`.
template <class Real>
struct apply_dropout {
  static constexpr char const* label = "weft::dropout";
  dropout_mask<execution::wide<Real>> mask;
  Real const* in;
  Real const* residual;
  Real* out;
  std::int64_t length;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    std::int64_t const sequence = execution::divide(row, length);
    std::int64_t const first = (row - sequence * length) * cut.columns;
    random::words drawn{};
    for (std::int64_t c = begin; c < end; ++c) {
      std::int64_t const element = first + c;
      if (c == begin || element % 4 == 0) drawn = mask.draw(sequence, element / 4);
      execution::wide<Real> const kept = mask.factor(drawn, element) * execution::widen(in[row * cut.columns + c]);
      out[row * cut.columns + c] =
          static_cast<Real>(residual == nullptr ? kept : execution::widen(residual[row * cut.columns + c]) + kept);
    }
  }
};

}  // namespace kernels

/// Dropout over [tokens][columns] at one of a layer's sites.
struct dropout {
  template <class Real, class Space>
  static void apply(layer_context<Real, Space> const& context, int site, std::int64_t columns, Real const* in,
                    Real const* residual, Real* out) {
    // four columns have one draw
    auto const cut =
        execution::is_host_space<Space> ? execution::cut_row<Space>(columns) : execution::column_cut{columns, 4};
    execution::for_each(
        context.space(), context.tokens() * cut.pieces(),
        kernels::apply_dropout<Real>{dropout_mask<execution::wide<Real>>::make(context.dropout, site, context.now), in,
                                     residual, out, context.size.sequence_length, cut});
  }

  /// The gradient before the mask: `grad` itself without dropout, else a masked copy in the workspace.
  template <class Real, class Space>
  static Real const* backward(layer_context<Real, Space> const& context, int site, std::int64_t columns,
                              Real const* grad, arena& workspace) {
    if (context.dropout.rate <= 0.0) return grad;
    Real* const masked = workspace.take<Real>(context.tokens() * columns);
    apply<Real, Space>(context, site, columns, grad, nullptr, masked);
    return masked;
  }
};

}  // namespace weft::inline v1::model
