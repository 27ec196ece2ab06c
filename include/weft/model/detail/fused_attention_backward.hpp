// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The two kernels of fused attention's backward; see model/fused_attention.hpp.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/attention_team.hpp>
#include <weft/model/dropout.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model::kernels {

/// Gradients of a tile of queries, and along[query] = its output times its output's gradient, which the other kernel
/// reads.
template <class Real, int Width, bool HasDropout, int Threads, class Member>
struct fused_attention_queries {
  static constexpr char const* label = "weft::fused_attention_queries";
  using number = execution::wide<Real>;
  static constexpr int held = 2;
  static constexpr attention_detail::tile_sizes sizes = attention_detail::choose_tiles(sizeof(number), Width, held, 32);
  static constexpr int each = attention_detail::parts / Threads;
  static constexpr int rows = sizes.rows / attention_detail::row_parts;
  static constexpr int keys = sizes.across / attention_detail::column_parts;
  static constexpr int columns = Width / attention_detail::column_parts;

  attention_detail::problem what;
  Real const* qkv;
  Real const* mixed;
  number const* logsum;
  Real const* grad_mixed;
  Real* grad_qkv;
  number* along;
  dropout_mask<number> mask;
  std::int64_t pairs;

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    using namespace attention_detail;
    constexpr int tall = sizes.rows;
    constexpr int wide = sizes.across;
    int const rank = team.team_rank();
    std::int64_t const first = (what.tiles(tall) - 1 - team.league_rank() / pairs) * tall;
    std::int64_t const pair = team.league_rank() % pairs;
    std::int64_t const head = pair % what.shape.heads;
    std::int64_t const sequence = pair / what.shape.heads;
    std::int64_t const row = what.shape.row();
    std::int64_t const width = what.shape.head_width;
    Real const* const start = qkv + sequence * what.length * row;
    Real const* const key = start + what.shape.width() + head / what.shape.group() * width;
    Real const* const value = key + what.shape.kv_width();
    std::int64_t const outputs = (sequence * what.length + first) * what.shape.width() + head * width;
    std::int64_t const there = what.length - first < tall ? what.length - first : tall;
    number const scale = static_cast<number>(what.scale);

    number* const query_tile = scratch_of<Threads, number>(team, scratch_numbers(sizes, Width, held));
    number* const grad_tile = query_tile + tall * (Width + 1);
    number* const other_tile = grad_tile + tall * (Width + 1);
    number* const weights = other_tile + wide * (Width + 1);
    number* const shared = weights + tall * (wide + 1);

    load_tile<tall, Width, Threads>(rank, start + first * row + head * width, row, there, width, query_tile);
    load_tile<tall, Width, Threads>(rank, grad_mixed + outputs, what.shape.width(), there, width, grad_tile);
    team.team_barrier();
    for (int w = 0; w < each; ++w) {
      int const at = (rank + w * Threads) / column_parts * rows;
      int const group = (rank + w * Threads) % column_parts;
      WEFT_UNROLL
      for (int i = 0; i < rows; ++i) {
        number sum = number(0);
        for (int c = group; c < width && at + i < there; c += column_parts)
          sum = math::multiply_add(grad_tile[(at + i) * (Width + 1) + c],
                                   execution::widen(mixed[outputs + (at + i) * what.shape.width() + c]), sum);
        shared[(at + i) * column_parts + group] = sum;
      }
    }
    team.team_barrier();

    number mean[each][rows];
    number shift[each][rows];
    number out[each][rows][columns];
    for (int w = 0; w < each; ++w) {
      int const at = (rank + w * Threads) / column_parts * rows;
      int const group = (rank + w * Threads) % column_parts;
      WEFT_UNROLL
      for (int i = 0; i < rows; ++i) {
        bool const is_there = at + i < there;
        mean[w][i] = shared[(at + i) * column_parts];
        for (int g = 1; g < column_parts; ++g) mean[w][i] += shared[(at + i) * column_parts + g];
        shift[w][i] = is_there ? logsum[pair * what.length + first + at + i] : number(0);
        if (is_there && group == 0) along[pair * what.length + first + at + i] = mean[w][i];
        WEFT_UNROLL
        for (int j = 0; j < columns; ++j) out[w][i][j] = number(0);
      }
    }

    for (std::int64_t from = 0; from < first + there; from += wide) {
      std::int64_t const left = what.length - from;
      load_tile<wide, Width, Threads>(rank, value + from * row, row, left, width, other_tile);
      team.team_barrier();
      number slope[each][rows][keys];  // of the probabilities
      for (int w = 0; w < each; ++w) {
        int const at = (rank + w * Threads) / column_parts * rows;
        int const group = (rank + w * Threads) % column_parts;
        multiply_rows<Width>(grad_tile + at * (Width + 1), other_tile + group * keys * (Width + 1), slope[w]);
      }
      team.team_barrier();
      load_tile<wide, Width, Threads>(rank, key + from * row, row, left, width, other_tile);
      team.team_barrier();
      for (int w = 0; w < each; ++w) {
        int const at = (rank + w * Threads) / column_parts * rows;
        int const group = (rank + w * Threads) % column_parts;
        number score[rows][keys];
        multiply_rows<Width>(query_tile + at * (Width + 1), other_tile + group * keys * (Width + 1), score);
        WEFT_UNROLL
        for (int i = 0; i < rows; ++i) {
          std::int64_t const element = (head * what.length + first + at + i) * what.length + from + group * keys;
          random::words drawn{};
          WEFT_UNROLL
          for (int j = 0; j < keys; ++j) {
            bool const is_seen = from + group * keys + j <= first + at + i;
            number const probability = is_seen ? math::exp(score[i][j] * scale - shift[w][i]) : number(0);
            number unmasked = slope[w][i][j];
            if constexpr (HasDropout) {
              if (j == 0 || (element + j) % 4 == 0) drawn = mask.draw(sequence, (element + j) / 4);
              unmasked *= mask.factor(drawn, element + j);
            }
            weights[(at + i) * (wide + 1) + group * keys + j] = probability * (unmasked - mean[w][i]) * scale;
          }
        }
      }
      team.team_barrier();
      for (int w = 0; w < each; ++w) {
        int const at = (rank + w * Threads) / column_parts * rows;
        int const group = (rank + w * Threads) % column_parts;
        add_weighted<wide, Width>(weights + at * (wide + 1), other_tile + group, out[w]);
      }
      team.team_barrier();
    }

    for (int w = 0; w < each; ++w) {
      int const at = (rank + w * Threads) / column_parts * rows;
      int const group = (rank + w * Threads) % column_parts;
      WEFT_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (at + i >= there) continue;
        Real* const to = grad_qkv + (sequence * what.length + first + at + i) * row + head * width;
        WEFT_UNROLL
        for (int j = 0; j < columns; ++j)
          if (group + j * column_parts < width) to[group + j * column_parts] = static_cast<Real>(out[w][i][j]);
      }
    }
  }
};

/// Gradients of a tile of keys and values, summed over the queries that see them: the heads of a group in ascending
/// order, and the queries of each.
template <class Real, int Width, bool HasDropout, int Threads, class Member>
struct fused_attention_keys {
  static constexpr char const* label = "weft::fused_attention_keys";
  using number = execution::wide<Real>;
  static constexpr int held = 2;
  static constexpr attention_detail::tile_sizes sizes = attention_detail::choose_tiles(sizeof(number), Width, held, 32);
  static constexpr int each = attention_detail::parts / Threads;
  static constexpr int rows = sizes.rows / attention_detail::row_parts;
  static constexpr int queries = sizes.across / attention_detail::column_parts;
  static constexpr int columns = Width / attention_detail::column_parts;

  attention_detail::problem what;
  Real const* qkv;
  number const* logsum;
  number const* along;
  Real const* grad_mixed;
  Real* grad_qkv;
  dropout_mask<number> mask;
  std::int64_t pairs;  ///< sequences x key and value heads

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    using namespace attention_detail;
    constexpr int tall = sizes.rows;
    constexpr int wide = sizes.across;
    int const rank = team.team_rank();
    std::int64_t const first = team.league_rank() / pairs * tall;
    std::int64_t const kv_head = team.league_rank() % pairs % what.shape.kv_heads;
    std::int64_t const sequence = team.league_rank() % pairs / what.shape.kv_heads;
    std::int64_t const row = what.shape.row();
    std::int64_t const width = what.shape.head_width;
    Real const* const start = qkv + sequence * what.length * row;
    std::int64_t const key = what.shape.width() + kv_head * width;
    std::int64_t const there = what.length - first < tall ? what.length - first : tall;
    number const scale = static_cast<number>(what.scale);

    number* const key_tile = scratch_of<Threads, number>(team, scratch_numbers(sizes, Width, held));
    number* const value_tile = key_tile + tall * (Width + 1);
    number* const other_tile = value_tile + tall * (Width + 1);
    number* const weights = other_tile + wide * (Width + 1);

    number grad_key[each][rows][columns];
    number grad_value[each][rows][columns];
    for (int w = 0; w < each; ++w) WEFT_UNROLL
    for (int i = 0; i < rows; ++i) WEFT_UNROLL
    for (int j = 0; j < columns; ++j) {
      grad_key[w][i][j] = number(0);
      grad_value[w][i][j] = number(0);
    }

    load_tile<tall, Width, Threads>(rank, start + first * row + key, row, there, width, key_tile);
    load_tile<tall, Width, Threads>(rank, start + first * row + key + what.shape.kv_width(), row, there, width,
                                    value_tile);
    for (std::int64_t member = 0; member < what.shape.group(); ++member) {
      std::int64_t const head = kv_head * what.shape.group() + member;
      number const* const shifts = logsum + (sequence * what.shape.heads + head) * what.length;
      number const* const means = along + (sequence * what.shape.heads + head) * what.length;
      Real const* const grad = grad_mixed + sequence * what.length * what.shape.width() + head * width;
      for (std::int64_t from = first / wide * wide; from < what.length; from += wide) {
        std::int64_t const left = what.length - from;
        load_tile<wide, Width, Threads>(rank, start + from * row + head * width, row, left, width, other_tile);
        team.team_barrier();
        number probability[each][rows][queries];
        number kept[each][rows][queries];  // the masks' factors
        for (int w = 0; w < each; ++w) {
          int const at = (rank + w * Threads) / column_parts * rows;
          int const group = (rank + w * Threads) % column_parts;
          multiply_rows<Width>(key_tile + at * (Width + 1), other_tile + group * queries * (Width + 1), probability[w]);
          WEFT_UNROLL
          for (int i = 0; i < rows; ++i) WEFT_UNROLL
          for (int j = 0; j < queries; ++j) {
            std::int64_t const query = from + group * queries + j;
            bool const is_seen = first + at + i <= query && query < what.length;
            number const shift = is_seen ? shifts[query] : number(0);
            number const made = is_seen ? math::exp(probability[w][i][j] * scale - shift) : number(0);
            probability[w][i][j] = made;
            kept[w][i][j] = factor(sequence, head, query, first + at + i);
            weights[(at + i) * (wide + 1) + group * queries + j] = made * kept[w][i][j];
          }
        }
        team.team_barrier();
        load_tile<wide, Width, Threads>(rank, grad + from * what.shape.width(), what.shape.width(), left, width,
                                        other_tile);
        team.team_barrier();
        for (int w = 0; w < each; ++w) {
          int const at = (rank + w * Threads) / column_parts * rows;
          int const group = (rank + w * Threads) % column_parts;
          add_weighted<wide, Width>(weights + at * (wide + 1), other_tile + group, grad_value[w]);
          number slope[rows][queries];
          multiply_rows<Width>(value_tile + at * (Width + 1), other_tile + group * queries * (Width + 1), slope);
          WEFT_UNROLL
          for (int i = 0; i < rows; ++i) WEFT_UNROLL
          for (int j = 0; j < queries; ++j) {
            std::int64_t const query = from + group * queries + j;
            number const mean = query < what.length ? means[query] : number(0);
            probability[w][i][j] *= (slope[i][j] * kept[w][i][j] - mean) * scale;
          }
        }
        team.team_barrier();
        load_tile<wide, Width, Threads>(rank, start + from * row + head * width, row, left, width, other_tile);
        for (int w = 0; w < each; ++w) {
          int const at = (rank + w * Threads) / column_parts * rows;
          int const group = (rank + w * Threads) % column_parts;
          WEFT_UNROLL
          for (int i = 0; i < rows; ++i) WEFT_UNROLL
          for (int j = 0; j < queries; ++j) weights[(at + i) * (wide + 1) + group * queries + j] = probability[w][i][j];
        }
        team.team_barrier();
        for (int w = 0; w < each; ++w) {
          int const at = (rank + w * Threads) / column_parts * rows;
          int const group = (rank + w * Threads) % column_parts;
          add_weighted<wide, Width>(weights + at * (wide + 1), other_tile + group, grad_key[w]);
        }
        team.team_barrier();
      }
    }

    for (int w = 0; w < each; ++w) {
      int const at = (rank + w * Threads) / column_parts * rows;
      int const group = (rank + w * Threads) % column_parts;
      WEFT_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (at + i >= there) continue;
        Real* const to = grad_qkv + (sequence * what.length + first + at + i) * row + key;
        WEFT_UNROLL
        for (int j = 0; j < columns; ++j) {
          int const c = group + j * column_parts;
          if (c >= width) continue;
          to[c] = static_cast<Real>(grad_key[w][i][j]);
          to[c + what.shape.kv_width()] = static_cast<Real>(grad_value[w][i][j]);
        }
      }
    }
  }

 private:
  /// Queries are neighbours here, so every number is drawn for itself.
  KOKKOS_FORCEINLINE_FUNCTION number factor([[maybe_unused]] std::int64_t sequence, [[maybe_unused]] std::int64_t head,
                                            [[maybe_unused]] std::int64_t query,
                                            [[maybe_unused]] std::int64_t key) const {
    if constexpr (HasDropout) {
      std::int64_t const element = (head * what.length + query) * what.length + key;
      return mask.factor(mask.draw(sequence, element / 4), element);
    } else {
      return number(1);
    }
  }
};

}  // namespace weft::inline v1::model::kernels
