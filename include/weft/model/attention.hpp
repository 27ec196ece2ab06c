// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Causal multi-head attention. Scores never leave the workspace: rows of 64 queries at a time are multiplied with all
/// keys up to their last one, so about half of the square is never computed; forward keeps the log of each row's sum of
/// exponentials, backward makes the probabilities again from it. Sequences are worked on one after the other, heads
/// are one strided batch of products.

#include <weft/config.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/lanes.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model {

namespace kernels {

/// What the row kernels of attention know of the tile they work on: `heads` matrices [rows][keys] one after the other,
/// whose row i belongs to query first + i of a sequence of `length`.
struct attention_tile {
  std::int64_t rows;
  std::int64_t keys;
  std::int64_t first;
  std::int64_t length;
  std::int64_t sequence;

  /// Where a row that sees `count` keys stops being computed: whole groups of lanes, so that vector loops have no
  /// tails. Scores from `count` on are minus infinity, their probabilities exactly 0.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t stop(std::int64_t count) const {
    constexpr std::int64_t group = lanes<float>::count;
    std::int64_t const whole = (count + group - 1) / group * group;
    return whole < keys ? whole : keys;
  }
};

/// scores -> probabilities (masked, if dropout is on), in place; logsum[head][query] = log sum exp.
template <class Real, bool HasDropout>
struct causal_softmax {
  static constexpr char const* label = HasDropout ? "weft::causal_softmax_dropout" : "weft::causal_softmax";
  Real* scores;
  Real* logsum;
  Real scale;
  attention_tile tile;
  dropout_mask<Real> mask;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    std::int64_t const stop = tile.stop(count);
    Real* WEFT_RESTRICT const s = scores + item * tile.keys;
    for (std::int64_t j = count; j < stop; ++j) s[j] = lanes<Real>::bottom;
    Real const factor = scale;  // a member would be loaded again in every turn of the loop, which stops vectorisation
    Real const largest = lanes<Real>::largest(stop, s) * factor;
    WEFT_INDEPENDENT
    for (std::int64_t j = 0; j < stop; ++j) s[j] = math::exp(s[j] * factor - largest);
    Real const sum = lanes<Real>::sum(stop, plain_term<Real>{s});
    Real const inverse = Real(1) / sum;
    WEFT_INDEPENDENT
    for (std::int64_t j = 0; j < stop; ++j) s[j] *= inverse;
    WEFT_INDEPENDENT
    for (std::int64_t j = stop; j < tile.keys; ++j) s[j] = Real(0);
    logsum[head * tile.length + query] = largest + math::log(sum);
    if constexpr (HasDropout) {
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = 0; j < count; ++j) {
        if (j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        s[j] *= mask.factor(drawn, row + j);
      }
    }
  }
};

/// scores -> probabilities (masked); grad (of the probabilities) -> gradient of the unscaled scores; both in place.
template <class Real, bool HasDropout>
struct causal_softmax_backward {
  static constexpr char const* label =
      HasDropout ? "weft::causal_softmax_backward_dropout" : "weft::causal_softmax_backward";
  Real* scores;
  Real* grad;
  Real const* logsum;
  Real scale;
  attention_tile tile;
  dropout_mask<Real> mask;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    Real* WEFT_RESTRICT const p = scores + item * tile.keys;
    Real* WEFT_RESTRICT const d = grad + item * tile.keys;
    std::int64_t const stop = tile.stop(count);
    for (std::int64_t j = count; j < stop; ++j) {
      p[j] = lanes<Real>::bottom;
      d[j] = Real(0);
    }
    Real const factor = scale;
    Real const shift = logsum[head * tile.length + query];
    WEFT_INDEPENDENT
    for (std::int64_t j = 0; j < stop; ++j) p[j] = math::exp(p[j] * factor - shift);
    if constexpr (HasDropout) {
      // d becomes the gradient of the unmasked probabilities
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = 0; j < count; ++j) {
        if (j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        d[j] *= mask.factor(drawn, row + j);
      }
    }
    Real const mean = lanes<Real>::sum(stop, product_term<Real>{p, d});
    WEFT_INDEPENDENT
    for (std::int64_t j = 0; j < stop; ++j) d[j] = p[j] * (d[j] - mean) * factor;
    if constexpr (HasDropout) {
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = 0; j < count; ++j) {
        if (j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        p[j] *= mask.factor(drawn, row + j);
      }
    }
    WEFT_INDEPENDENT
    for (std::int64_t j = stop; j < tile.keys; ++j) {
      p[j] = Real(0);
      d[j] = Real(0);
    }
  }
};

}  // namespace kernels

/// qkv [tokens][3 width] -> mixed [tokens][width]; width = heads * head width. No parameters.
struct attention {
  /// Queries worked on at once.
  static constexpr std::int64_t tile_rows = 64;

  /// Numbers of Real that the workspace must hold (backward; forward needs half).
  static constexpr std::int64_t workspace_elements(extents size, std::int64_t heads) {
    std::int64_t const length = size.sequence_length;
    return 2 * (heads * (length < tile_rows ? length : tile_rows) * length + 64);
  }

  /// logsum: [sequences][heads][length], kept for backward.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, std::int64_t width, std::int64_t heads,
                      Real const* qkv, Real* mixed, Real* logsum, int dropout_site) {
    problem const made = problem::make(context, width, heads);
    arena workspace = context.workspace;
    Real* const scores = workspace.take<Real>(heads * made.tile_height() * made.length);
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = 0; first < made.length; first += tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        Real const* const query = qkv + (sequence * made.length + first) * 3 * width;
        Real const* const key = qkv + sequence * made.length * 3 * width + width;
        blas::matrix<Real> const square{scores, tile.keys, tile.rows * tile.keys};
        multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, made.head_width,
                 {query, 3 * width, made.head_width}, {key, 3 * width, made.head_width}, Real(0), square, heads);
        softmax(context, heads, scores, logsum + sequence * heads * made.length, made, tile, dropout_site);
        multiply(context, blas::transpose::no, blas::transpose::no, tile.rows, made.head_width, tile.keys,
                 {scores, tile.keys, tile.rows * tile.keys}, {key + width, 3 * width, made.head_width}, Real(0),
                 {mixed + (sequence * made.length + first) * width, width, made.head_width}, heads);
      }
      context.stage.progress();
    }
  }

  /// grad_qkv [tokens][3 width] from grad_mixed [tokens][width]. Tiles are walked downwards, since the last one reaches
  /// all keys and so starts their sums.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, std::int64_t width, std::int64_t heads,
                       Real const* qkv, Real const* logsum, Real const* grad_mixed, Real* grad_qkv, int dropout_site) {
    problem const made = problem::make(context, width, heads);
    arena workspace = context.workspace;
    Real* const scores = workspace.take<Real>(heads * made.tile_height() * made.length);
    Real* const grad = workspace.take<Real>(heads * made.tile_height() * made.length);
    std::int64_t const last = (made.length - 1) / tile_rows * tile_rows;
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = last; first >= 0; first -= tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        std::int64_t const row = (sequence * made.length + first) * 3 * width;
        std::int64_t const start = sequence * made.length * 3 * width;
        std::int64_t const step = made.head_width;
        blas::matrix<Real const> const query{qkv + row, 3 * width, step};
        blas::matrix<Real const> const key{qkv + start + width, 3 * width, step};
        blas::matrix<Real const> const value{qkv + start + 2 * width, 3 * width, step};
        blas::matrix<Real const> const out{grad_mixed + (sequence * made.length + first) * width, width, step};
        blas::matrix<Real const> const probabilities{scores, tile.keys, tile.rows * tile.keys};
        blas::matrix<Real const> const slopes{grad, tile.keys, tile.rows * tile.keys};
        Real const beta = first == last ? Real(0) : Real(1);
        multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step, query, key, Real(0),
                 {scores, tile.keys, tile.rows * tile.keys}, heads);
        multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step, out, value, Real(0),
                 {grad, tile.keys, tile.rows * tile.keys}, heads);
        softmax_backward(context, heads, scores, grad, logsum + sequence * heads * made.length, made, tile,
                         dropout_site);
        multiply(context, blas::transpose::no, blas::transpose::no, tile.rows, step, tile.keys, slopes, key, Real(0),
                 {grad_qkv + row, 3 * width, step}, heads);
        multiply(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows, slopes, query, beta,
                 {grad_qkv + start + width, 3 * width, step}, heads);
        multiply(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows, probabilities, out,
                 beta, {grad_qkv + start + 2 * width, 3 * width, step}, heads);
      }
      context.stage.progress();
    }
  }

 private:
  struct problem {
    std::int64_t length;
    std::int64_t head_width;
    double scale;

    template <class Context>
    static problem make(Context const& context, std::int64_t width, std::int64_t heads) {
      return {context.size.sequence_length, width / heads,
              1.0 / math::sqrt(static_cast<double>(width) / static_cast<double>(heads))};
    }
    [[nodiscard]] std::int64_t tile_height() const { return length < tile_rows ? length : tile_rows; }
    [[nodiscard]] kernels::attention_tile tile(std::int64_t sequence, std::int64_t first) const {
      std::int64_t const rows = first + tile_rows < length ? tile_rows : length - first;
      return {rows, first + rows, first, length, sequence};
    }
  };

  template <class Real, class Space>
  static void multiply(layer_context<Real, Space> const& context, blas::transpose trans_a, blas::transpose trans_b,
                       std::int64_t rows, std::int64_t columns, std::int64_t depth, blas::matrix<Real const> left,
                       blas::matrix<Real const> right, Real beta, blas::matrix<Real> out, std::int64_t batch) {
    blas::gemm_batched<Space, Real>(context.blas, trans_a, trans_b, rows, columns, depth, Real(1), left, right, beta,
                                    out, batch);
  }

  template <class Real, class Space>
  static void softmax(layer_context<Real, Space> const& context, std::int64_t heads, Real* scores, Real* logsum,
                      problem const& made, kernels::attention_tile const& tile, int site) {
    Real const scale = static_cast<Real>(made.scale);
    auto const mask = dropout_mask<Real>::make(context.dropout, site);
    if (context.dropout.rate > 0.0) {
      execution::for_each(context.space(), heads * tile.rows,
                          kernels::causal_softmax<Real, true>{scores, logsum, scale, tile, mask});
    } else {
      execution::for_each(context.space(), heads * tile.rows,
                          kernels::causal_softmax<Real, false>{scores, logsum, scale, tile, mask});
    }
  }

  template <class Real, class Space>
  static void softmax_backward(layer_context<Real, Space> const& context, std::int64_t heads, Real* scores, Real* grad,
                               Real const* logsum, problem const& made, kernels::attention_tile const& tile, int site) {
    Real const scale = static_cast<Real>(made.scale);
    auto const mask = dropout_mask<Real>::make(context.dropout, site);
    if (context.dropout.rate > 0.0) {
      execution::for_each(context.space(), heads * tile.rows,
                          kernels::causal_softmax_backward<Real, true>{scores, grad, logsum, scale, tile, mask});
    } else {
      execution::for_each(context.space(), heads * tile.rows,
                          kernels::causal_softmax_backward<Real, false>{scores, grad, logsum, scale, tile, mask});
    }
  }
};

}  // namespace weft::inline v1::model
