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
#include <weft/execution/reduced.hpp>
#include <weft/execution/row_team.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/attention_shape.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/lanes.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

WEFT_LOOPS_BEGIN
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

/// scores -> probabilities (masked, if dropout is on), in place; logsum[head][query] = log sum exp. `probabilities`:
/// where they are of 16 bits, once more as the product with the values reads them.
template <class Real, bool HasDropout>
struct causal_softmax {
  static constexpr char const* label = HasDropout ? "weft::causal_softmax_dropout" : "weft::causal_softmax";
  execution::wide<Real>* scores;
  execution::wide<Real>* logsum;
  execution::wide<Real> scale;
  attention_tile tile;
  dropout_mask<execution::wide<Real>> mask;
  Real* probabilities = nullptr;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    std::int64_t const stop = tile.stop(count);
    execution::wide<Real>* WEFT_RESTRICT const s = scores + item * tile.keys;
    for (std::int64_t j = team.begin(count), end = team.end(stop); j < end; j += Team::stride)
      s[j] = lanes<execution::wide<Real>>::bottom;
    execution::wide<Real> const factor =
        scale;  // a member would be loaded again in every turn of the loop, which stops vectorisation
    execution::wide<Real> const largest = team.largest(stop, s) * factor;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride)
      s[j] = math::exp(s[j] * factor - largest);
    execution::wide<Real> const sum = team.sum(stop, plain_term<execution::wide<Real>>{s});
    execution::wide<Real> const inverse = 1 / sum;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(0), end = team.end(stop); j < end; j += Team::stride) s[j] *= inverse;
    WEFT_INDEPENDENT
    for (std::int64_t j = team.begin(stop), end = team.end(tile.keys); j < end; j += Team::stride) s[j] = 0;
    if (team.leads()) logsum[head * tile.length + query] = largest + math::log(sum);
    if constexpr (HasDropout) {
      std::int64_t const row = (head * tile.length + query) * tile.length;
      random::words drawn{};
      for (std::int64_t j = team.begin(0), end = team.end(count); j < end; j += Team::stride) {
        if (Team::stride > 1 || j == 0 || (row + j) % 4 == 0) drawn = mask.draw(tile.sequence, (row + j) / 4);
        s[j] *= mask.factor(drawn, row + j);
      }
    }
    if constexpr (execution::is_reduced<Real>) {
      Real* WEFT_RESTRICT const p = probabilities + item * tile.keys;
      for (std::int64_t j = team.begin(0), end = team.end(tile.keys); j < end; j += Team::stride)
        p[j] = static_cast<Real>(s[j]);
    }
  }
};

/// scores -> probabilities (masked); grad (of the probabilities) -> gradient of the unscaled scores; both in place, and
/// where they are of 16 bits, once more as products read them: `probabilities` and `slopes`.
template <class Real, bool HasDropout>
struct causal_softmax_backward {
  static constexpr char const* label =
      HasDropout ? "weft::causal_softmax_backward_dropout" : "weft::causal_softmax_backward";
  execution::wide<Real>* scores;
  execution::wide<Real>* grad;
  execution::wide<Real> const* logsum;
  execution::wide<Real> scale;
  attention_tile tile;
  dropout_mask<execution::wide<Real>> mask;
  Real* probabilities = nullptr;
  Real* slopes = nullptr;

  template <class Team>
  KOKKOS_INLINE_FUNCTION void operator()(Team& team, std::int64_t item) const {
    std::int64_t const head = item / tile.rows;
    std::int64_t const query = tile.first + item % tile.rows;
    std::int64_t const count = query + 1;
    execution::wide<Real>* WEFT_RESTRICT const p = scores + item * tile.keys;
    execution::wide<Real>* WEFT_RESTRICT const d = grad + item * tile.keys;
    std::int64_t const stop = tile.stop(count);
    for (std::int64_t j = team.begin(count), end = team.end(stop); j < end; j += Team::stride) {
      p[j] = lanes<execution::wide<Real>>::bottom;
      d[j] = 0;
    }
    execution::wide<Real> const factor = scale;
    execution::wide<Real> const shift = logsum[head * tile.length + query];
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
    execution::wide<Real> const mean = team.sum(stop, product_term<execution::wide<Real>>{p, d});
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
      p[j] = 0;
      d[j] = 0;
    }
    if constexpr (execution::is_reduced<Real>) {
      Real* WEFT_RESTRICT const narrow_p = probabilities + item * tile.keys;
      Real* WEFT_RESTRICT const narrow_d = slopes + item * tile.keys;
      for (std::int64_t j = team.begin(0), end = team.end(tile.keys); j < end; j += Team::stride) {
        narrow_p[j] = static_cast<Real>(p[j]);
        narrow_d[j] = static_cast<Real>(d[j]);
      }
    }
  }
};

/// Rows of sums, one after the other, into rows of 16 bits that lie `row` apart.
template <class Real>
struct narrow_rows {
  static constexpr char const* label = "weft::narrow";
  execution::wide<Real> const* from;
  Real* to;
  std::int64_t row;
  execution::column_cut cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const which = cut.row_of(item);
    std::int64_t const begin = cut.begin(cut.piece_of(item));
    std::int64_t const end = cut.end(cut.piece_of(item));
    WEFT_INDEPENDENT
    for (std::int64_t c = begin; c < end; ++c) to[which * row + c] = static_cast<Real>(from[which * cut.columns + c]);
  }
};

}  // namespace kernels

/// qkv [tokens][shape.row()] -> mixed [tokens][width]. No parameters.
struct attention {
  /// Queries worked on at once.
  static constexpr std::int64_t tile_rows = 64;

  /// Scratch of backward, the larger user. Where numbers have 16 bits, scores are floats, and then once more what
  /// products read; gradients of keys and values are added up over tiles as floats too.
  template <class Real>
  static constexpr std::size_t workspace_bytes(extents size, attention_shape const& shape) {
    std::int64_t const length = size.sequence_length;
    arena counting;
    for (int which = 0; which < 2; ++which) {
      static_cast<void>(counting.take<execution::wide<Real>>(square_elements(shape, length)));
      if (execution::is_reduced<Real>) static_cast<void>(counting.take<Real>(square_elements(shape, length)));
    }
    if (execution::is_reduced<Real>)
      static_cast<void>(counting.take<execution::wide<Real>>(2 * length * shape.kv_width()));
    return counting.used();
  }

  /// logsum: [sequences][heads][length], kept for backward.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                      Real* mixed, execution::wide<Real>* logsum, int dropout_site) {
    problem const made = problem::make(context, shape);
    std::int64_t const width = shape.width();
    std::int64_t const row = shape.row();
    std::int64_t const step = shape.head_width;
    std::int64_t const group = shape.group();
    arena workspace = context.workspace;
    execution::wide<Real>* const scores = workspace.take<execution::wide<Real>>(square_elements(shape, made.length));
    Real* const probabilities = operand<Real>(workspace, scores, square_elements(shape, made.length));
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = 0; first < made.length; first += tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        std::int64_t const square = tile.rows * tile.keys;
        Real const* const query = qkv + (sequence * made.length + first) * row;
        Real const* const key = qkv + sequence * made.length * row + width;
        Real const* const value = key + shape.kv_width();
        Real* const out = mixed + (sequence * made.length + first) * width;
        for (std::int64_t member = 0; member < group; ++member)
          multiply<Real, execution::wide<Real>>(context, blas::transpose::no, blas::transpose::yes, tile.rows,
                                                tile.keys, step, {query + member * step, row, group * step},
                                                {key, row, step}, 0,
                                                {scores + member * square, tile.keys, group * square}, shape.kv_heads);
        softmax<Real>(context, shape.heads, scores, probabilities, logsum + sequence * shape.heads * made.length, made,
                      tile, dropout_site);
        for (std::int64_t member = 0; member < group; ++member)
          multiply<Real, Real>(context, blas::transpose::no, blas::transpose::no, tile.rows, step, tile.keys,
                               {probabilities + member * square, tile.keys, group * square}, {value, row, step}, 0,
                               {out + member * step, width, group * step}, shape.kv_heads);
      }
      context.stage.progress();
    }
  }

  /// grad_qkv [tokens][shape.row()] from grad_mixed [tokens][width]. Tiles are walked downwards, since the last one
  /// reaches all keys and so starts their sums; in each, the heads of a group are added in ascending order.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                       execution::wide<Real> const* logsum, Real const* grad_mixed, Real* grad_qkv, int dropout_site) {
    problem const made = problem::make(context, shape);
    std::int64_t const width = shape.width();
    std::int64_t const kv_width = shape.kv_width();
    std::int64_t const row = shape.row();
    std::int64_t const step = shape.head_width;
    std::int64_t const group = shape.group();
    arena workspace = context.workspace;
    using sum = execution::wide<Real>;
    std::int64_t const elements = square_elements(shape, made.length);
    sum* const scores = workspace.take<sum>(elements);
    Real* const probability = operand<Real>(workspace, scores, elements);
    sum* const grad = workspace.take<sum>(elements);
    Real* const slope = operand<Real>(workspace, grad, elements);
    sum* const sums = execution::is_reduced<Real> ? workspace.take<sum>(2 * made.length * kv_width) : nullptr;
    std::int64_t const last = (made.length - 1) / tile_rows * tile_rows;
    for (std::int64_t sequence = 0; sequence < context.size.sequences_per_micro_batch; ++sequence) {
      for (std::int64_t first = last; first >= 0; first -= tile_rows) {
        kernels::attention_tile const tile = made.tile(sequence, first);
        std::int64_t const square = tile.rows * tile.keys;
        std::int64_t const at = (sequence * made.length + first) * row;
        std::int64_t const start = sequence * made.length * row + width;
        blas::matrix<Real const> const key{qkv + start, row, step};
        blas::matrix<Real const> const value{qkv + start + kv_width, row, step};
        // [length][2 kv_width], where keys' and values' gradients are not yet what is handed on
        blas::matrix<sum> grad_key{sums, 2 * kv_width, step};
        if constexpr (!execution::is_reduced<Real>) grad_key = {grad_qkv + start, row, step};
        blas::matrix<sum> const grad_value{grad_key.data + kv_width, grad_key.leading, step};
        auto const query = [&](std::int64_t member) {
          return blas::matrix<Real const>{qkv + at + member * step, row, group * step};
        };
        auto const out = [&](std::int64_t member) {
          return blas::matrix<Real const>{grad_mixed + (sequence * made.length + first) * width + member * step, width,
                                          group * step};
        };
        for (std::int64_t member = 0; member < group; ++member) {
          multiply<Real, sum>(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step,
                              query(member), key, 0, {scores + member * square, tile.keys, group * square},
                              shape.kv_heads);
          multiply<Real, sum>(context, blas::transpose::no, blas::transpose::yes, tile.rows, tile.keys, step,
                              out(member), value, 0, {grad + member * square, tile.keys, group * square},
                              shape.kv_heads);
        }
        softmax_backward<Real>(context, shape.heads, scores, grad, probability, slope,
                               logsum + sequence * shape.heads * made.length, made, tile, dropout_site);
        for (std::int64_t member = 0; member < group; ++member) {
          blas::matrix<Real const> const probabilities{probability + member * square, tile.keys, group * square};
          blas::matrix<Real const> const slopes{slope + member * square, tile.keys, group * square};
          sum const beta = first == last && member == 0 ? sum(0) : sum(1);
          multiply<Real, Real>(context, blas::transpose::no, blas::transpose::no, tile.rows, step, tile.keys, slopes,
                               key, 0, {grad_qkv + at + member * step, row, group * step}, shape.kv_heads);
          multiply<Real, sum>(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows, slopes,
                              query(member), beta, grad_key, shape.kv_heads);
          multiply<Real, sum>(context, blas::transpose::yes, blas::transpose::no, tile.keys, step, tile.rows,
                              probabilities, out(member), beta, grad_value, shape.kv_heads);
        }
      }
      if constexpr (execution::is_reduced<Real>) {
        auto const cut = execution::cut_row<Space>(2 * kv_width);
        execution::for_each(
            context.space(), made.length * cut.pieces(),
            kernels::narrow_rows<Real>{sums, grad_qkv + sequence * made.length * row + width, row, cut});
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
    [[nodiscard]] kernels::attention_tile tile(std::int64_t sequence, std::int64_t first) const {
      std::int64_t const rows = first + tile_rows < length ? tile_rows : length - first;
      return {rows, first + rows, first, length, sequence};
    }
  };

  /// Of one tile's scores, all heads.
  static constexpr std::int64_t square_elements(attention_shape const& shape, std::int64_t length) {
    return shape.heads * (length < tile_rows ? length : tile_rows) * length;
  }

  /// Where products find what row kernels made of `in_place`: there, or in the workspace with 16 bits.
  template <class Real>
  static Real* operand(arena& workspace, execution::wide<Real>* in_place, std::int64_t elements) {
    if constexpr (execution::is_reduced<Real>) {
      static_cast<void>(in_place);
      return workspace.take<Real>(elements);
    } else {
      static_cast<void>(workspace);
      static_cast<void>(elements);
      return in_place;
    }
  }

  template <class Real, class Out, class Space>
  static void multiply(layer_context<Real, Space> const& context, blas::transpose trans_a, blas::transpose trans_b,
                       std::int64_t rows, std::int64_t columns, std::int64_t depth, blas::matrix<Real const> left,
                       blas::matrix<Real const> right, execution::wide<Real> beta, blas::matrix<Out> out,
                       std::int64_t batch) {
    blas::gemm_batched<Space, Real, Out>(context.blas, trans_a, trans_b, rows, columns, depth, 1, left, right, beta,
                                         out, batch);
  }

  template <class Real, class Space>
  static void softmax(layer_context<Real, Space> const& context, std::int64_t heads, execution::wide<Real>* scores,
                      Real* probabilities, execution::wide<Real>* logsum, problem const& made,
                      kernels::attention_tile const& tile, int site) {
    execution::wide<Real> const scale = static_cast<execution::wide<Real>>(made.scale);
    auto const mask = dropout_mask<execution::wide<Real>>::make(context.dropout, site, context.now);
    if (context.dropout.rate > 0.0) {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax<Real, true>{scores, logsum, scale, tile, mask, probabilities});
    } else {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax<Real, false>{scores, logsum, scale, tile, mask, probabilities});
    }
  }

  template <class Real, class Space>
  static void softmax_backward(layer_context<Real, Space> const& context, std::int64_t heads,
                               execution::wide<Real>* scores, execution::wide<Real>* grad, Real* probabilities,
                               Real* slopes, execution::wide<Real> const* logsum, problem const& made,
                               kernels::attention_tile const& tile, int site) {
    execution::wide<Real> const scale = static_cast<execution::wide<Real>>(made.scale);
    auto const mask = dropout_mask<execution::wide<Real>>::make(context.dropout, site, context.now);
    if (context.dropout.rate > 0.0) {
      execution::for_each_row(
          context.space(), heads * tile.rows,
          kernels::causal_softmax_backward<Real, true>{scores, grad, logsum, scale, tile, mask, probabilities, slopes});
    } else {
      execution::for_each_row(context.space(), heads * tile.rows,
                              kernels::causal_softmax_backward<Real, false>{scores, grad, logsum, scale, tile, mask,
                                                                            probabilities, slopes});
    }
  }
};

}  // namespace weft::inline v1::model
WEFT_LOOPS_END
