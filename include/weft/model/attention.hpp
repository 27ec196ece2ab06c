// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Causal multi-head attention. Scores never leave the workspace: rows of 64 queries at a time are multiplied with all
/// keys up to their last one, so about half of the square is never computed; forward keeps the log of each row's sum of
/// exponentials, backward makes the probabilities again from it. Sequences are worked on one after the other, heads
/// are one strided batch of products; where several query heads share a key and value head (Ainslie et al. 2023,
/// grouped-query attention), one batch for each member of the groups.

#include <weft/config.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/row_team.hpp>
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

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    std::int64_t const stop = tile.stop(count);
    Real* WEFT_RESTRICT const s = scores + item * tile.keys;
    for (std::int64_t j = team.begin(count), end = team.end(stop); j < end; j += Team::stride)
      s[j] = lanes<Real>::bottom;
    Real const factor = scale;  // a member would be loaded again in every turn of the loop, which stops vectorisation
    Real const largest = team.largest(stop, s) * factor;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride)
      s[j] = math::exp(s[j] * factor - largest);
    Real const sum = team.sum(stop, plain_term<Real>{s});
    Real const inverse = Real(1) / sum;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride) s[j] *= inverse;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(stop), end = team.end(tile.keys); j < end; j += Team::stride) s[j] = Real(0);
    if (team.leads()) logsum[head * tile.length + query] = largest + math::log(sum);
    if constexpr (HasDropout) {
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = team.begin(0), end = team.end(count); j < end; j += Team::stride) {
        if (Team::stride > 1 || j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
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

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    Real* WEFT_RESTRICT const p = scores + item * tile.keys;
    Real* WEFT_RESTRICT const d = grad + item * tile.keys;
    std::int64_t const stop = tile.stop(count);
    for (std::int64_t j = team.begin(count), end = team.end(stop); j < end; j += Team::stride) {
      p[j] = lanes<Real>::bottom;
      d[j] = Real(0);
    }
    Real const factor = scale;
    Real const shift = logsum[head * tile.length + query];
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride)
      p[j] = math::exp(p[j] * factor - shift);
    if constexpr (HasDropout) {
      // d becomes the gradient of the unmasked probabilities
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = team.begin(0), end = team.end(count); j < end; j += Team::stride) {
        if (Team::stride > 1 || j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        d[j] *= mask.factor(drawn, row + j);
      }
    }
    Real const mean = team.sum(stop, product_term<Real>{p, d});
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride)
      d[j] = p[j] * (d[j] - mean) * factor;
    if constexpr (HasDropout) {
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = team.begin(0), end = team.end(count); j < end; j += Team::stride) {
        if (Team::stride > 1 || j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        p[j] *= mask.factor(drawn, row + j);
      }
    }
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(stop), end = team.end(tile.keys); j < end; j += Team::stride) {
      p[j] = Real(0);
      d[j] = Real(0);
    }
  }
};

}  // namespace kernels

/// Heads, and how they lie in a row of `qkv`: queries [heads][head_width], keys [kv_heads][head_width], then values
/// alike. Query head h looks at key and value head h / group().
struct attention_shape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  ///< divides `heads`
  std::int64_t head_width = 1;

  [[nodiscard]] constexpr std::int64_t group() const { return heads / kv_heads; }
  [[nodiscard]] constexpr std::int64_t width() const { return heads * head_width; }
  [[nodiscard]] constexpr std::int64_t kv_width() const { return kv_heads * head_width; }
  [[nodiscard]] constexpr std::int64_t row() const { return width() + 2 * kv_width(); }
};

/// qkv [tokens][shape.row()] -> mixed [tokens][width]. No parameters.
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
  static void forward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                      Real* mixed, Real* logsum, int dropout_site) {
    problem const made = problem::make(context, shape);
    std::int64_t const width = shape.width();
    std::int64_t const row = shape.row();
    std::int64_t const step = shape.head_width;
    std::int64_t const group = shape.group();
    arena workspace = context.workspace;
    Real* const scores = workspace.take<Real>(shape.heads * made.tile_height() * made.length);
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = 0; first < made.length; first += tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        std::int64_t const square = tile.rows * tile.keys;
        Real const* const query = qkv + (sequence * made.length + first) * row;
        Real const* const key = qkv + sequence * made.length * row + width;
        Real const* const value = key + shape.kv_width();
        Real* const out = mixed + (sequence * made.length + first) * width;
        for (std::int64_t member = 0; member < group; ++member)
          multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step,
                   {query + member * step, row, group * step}, {key, row, step}, Real(0),
                   {scores + member * square, tile.keys, group * square}, shape.kv_heads);
        softmax(context, shape.heads, scores, logsum + sequence * shape.heads * made.length, made, tile, dropout_site);
        for (std::int64_t member = 0; member < group; ++member)
          multiply(context, blas::transpose::no, blas::transpose::no, tile.rows, step, tile.keys,
                   {scores + member * square, tile.keys, group * square}, {value, row, step}, Real(0),
                   {out + member * step, width, group * step}, shape.kv_heads);
      }
      context.stage.progress();
    }
  }

  /// grad_qkv [tokens][shape.row()] from grad_mixed [tokens][width]. Tiles are walked downwards, since the last one
  /// reaches all keys and so starts their sums; in each, the heads of a group are added in ascending order.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                       Real const* logsum, Real const* grad_mixed, Real* grad_qkv, int dropout_site) {
    problem const made = problem::make(context, shape);
    std::int64_t const width = shape.width();
    std::int64_t const kv_width = shape.kv_width();
    std::int64_t const row = shape.row();
    std::int64_t const step = shape.head_width;
    std::int64_t const group = shape.group();
    arena workspace = context.workspace;
    Real* const scores = workspace.take<Real>(shape.heads * made.tile_height() * made.length);
    Real* const grad = workspace.take<Real>(shape.heads * made.tile_height() * made.length);
    std::int64_t const last = (made.length - 1) / tile_rows * tile_rows;
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = last; first >= 0; first -= tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        std::int64_t const square = tile.rows * tile.keys;
        std::int64_t const at = (sequence * made.length + first) * row;
        std::int64_t const start = sequence * made.length * row + width;
        blas::matrix<Real const> const key{qkv + start, row, step};
        blas::matrix<Real const> const value{qkv + start + kv_width, row, step};
        blas::matrix<Real> const grad_key{grad_qkv + start, row, step};
        blas::matrix<Real> const grad_value{grad_qkv + start + kv_width, row, step};
        auto const query = [&](std::int64_t member) {
          return blas::matrix<Real const>{qkv + at + member * step, row, group * step};
        };
        auto const out = [&](std::int64_t member) {
          return blas::matrix<Real const>{grad_mixed + (sequence * made.length + first) * width + member * step, width,
                                          group * step};
        };
        for (std::int64_t member = 0; member < group; ++member) {
          multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step, query(member), key,
                   Real(0), {scores + member * square, tile.keys, group * square}, shape.kv_heads);
          multiply(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step, out(member), value,
                   Real(0), {grad + member * square, tile.keys, group * square}, shape.kv_heads);
        }
        softmax_backward(context, shape.heads, scores, grad, logsum + sequence * shape.heads * made.length, made, tile,
                         dropout_site);
        for (std::int64_t member = 0; member < group; ++member) {
          blas::matrix<Real const> const probabilities{scores + member * square, tile.keys, group * square};
          blas::matrix<Real const> const slopes{grad + member * square, tile.keys, group * square};
          Real const beta = first == last && member == 0 ? Real(0) : Real(1);
          multiply(context, blas::transpose::no, blas::transpose::no, tile.rows, step, tile.keys, slopes, key, Real(0),
                   {grad_qkv + at + member * step, row, group * step}, shape.kv_heads);
          multiply(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows, slopes,
                   query(member), beta, grad_key, shape.kv_heads);
          multiply(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows, probabilities,
                   out(member), beta, grad_value, shape.kv_heads);
        }
      }
      context.stage.progress();
    }
  }

 private:
  struct problem {
    std::int64_t length;
    double scale;

    template <class Context>
    static problem make(Context const& context, attention_shape const& shape) {
      return {context.size.sequence_length, 1.0 / math::sqrt(static_cast<double>(shape.head_width))};
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
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax<Real, true>{scores, logsum, scale, tile, mask});
    } else {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax<Real, false>{scores, logsum, scale, tile, mask});
    }
  }

  template <class Real, class Space>
  static void softmax_backward(layer_context<Real, Space> const& context, std::int64_t heads, Real* scores, Real* grad,
                               Real const* logsum, problem const& made, kernels::attention_tile const& tile, int site) {
    Real const scale = static_cast<Real>(made.scale);
    auto const mask = dropout_mask<Real>::make(context.dropout, site);
    if (context.dropout.rate > 0.0) {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax_backward<Real, true>{scores, grad, logsum, scale, tile, mask});
    } else {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax_backward<Real, false>{scores, grad, logsum, scale, tile, mask});
    }
  }
};

}  // namespace weft::inline v1::model
