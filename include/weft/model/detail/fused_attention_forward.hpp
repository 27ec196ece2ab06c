// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The kernel of fused attention's forward; see model/fused_attention.hpp.

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/lanes.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/attention_team.hpp>
#include <weft/model/dropout.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::model::kernels {

/// mixed and logsum of a tile of queries. `Width`: the head width, padded.
template <class Real, int Width, bool HasDropout, int Threads, class Member>
struct fused_attention_forward {
  static constexpr char const* label = "weft::fused_attention";
  using number = execution::wide<Real>;
  static constexpr int held = 1;
  static constexpr attention_detail::tile_sizes sizes = attention_detail::choose_tiles(sizeof(number), Width, held, 64);
  static constexpr int each = attention_detail::parts / Threads;
  static constexpr int rows = sizes.rows / attention_detail::row_parts;
  static constexpr int keys = sizes.across / attention_detail::column_parts;
  static constexpr int columns = Width / attention_detail::column_parts;

  attention_detail::problem what;
  Real const* qkv;
  Real* mixed;
  number* logsum;
  dropout_mask<number> mask;
  std::int64_t pairs;  ///< sequences x heads

  KOKKOS_INLINE_FUNCTION void operator()(Member const& team) const {
    using namespace attention_detail;
    constexpr int tall = sizes.rows;
    constexpr int wide = sizes.across;
    int const rank = team.team_rank();
    // the tiles with most keys come first
    std::int64_t const first = (what.tiles(tall) - 1 - team.league_rank() / pairs) * tall;
    std::int64_t const pair = team.league_rank() % pairs;
    std::int64_t const head = pair % what.shape.heads;
    std::int64_t const sequence = pair / what.shape.heads;
    std::int64_t const row = what.shape.row();
    std::int64_t const width = what.shape.head_width;
    Real const* const start = qkv + sequence * what.length * row;
    Real const* const key = start + what.shape.width() + head / what.shape.group() * width;
    Real const* const value = key + what.shape.kv_width();
    std::int64_t const there = what.length - first < tall ? what.length - first : tall;
    number const scale = static_cast<number>(what.scale);

    number* const query_tile = scratch_of<Threads, number>(team, scratch_numbers(sizes, Width, held));
    number* const other_tile = query_tile + tall * (Width + 1);
    number* const weights = other_tile + wide * (Width + 1);
    number* const shared = weights + tall * (wide + 1);

    number largest[each][rows];
    number total[each][rows];
    number out[each][rows][columns];
    for (int w = 0; w < each; ++w) WEFT_UNROLL
    for (int i = 0; i < rows; ++i) {
      largest[w][i] = execution::lanes<number>::bottom;
      total[w][i] = number(0);
      WEFT_UNROLL
      for (int j = 0; j < columns; ++j) out[w][i][j] = number(0);
    }

    load_tile<tall, Width, Threads>(rank, start + first * row + head * width, row, there, width, query_tile);
    for (std::int64_t from = 0; from < first + there; from += wide) {
      std::int64_t const left = what.length - from;
      load_tile<wide, Width, Threads>(rank, key + from * row, row, left, width, other_tile);
      team.team_barrier();
      number score[each][rows][keys];
      for (int w = 0; w < each; ++w) {
        int const at = (rank + w * Threads) / column_parts * rows;
        int const group = (rank + w * Threads) % column_parts;
        multiply_rows<Width>(query_tile + at * (Width + 1), other_tile + group * keys * (Width + 1), score[w]);
        WEFT_UNROLL
        for (int i = 0; i < rows; ++i) {
          number most = execution::lanes<number>::bottom;
          WEFT_UNROLL
          for (int j = 0; j < keys; ++j) {
            bool const is_seen = from + group * keys + j <= first + at + i;
            score[w][i][j] = is_seen ? score[w][i][j] * scale : execution::lanes<number>::bottom;
            most = score[w][i][j] > most ? score[w][i][j] : most;
          }
          shared[(at + i) * column_parts + group] = most;
        }
      }
      team.team_barrier();
      load_tile<wide, Width, Threads>(rank, value + from * row, row, left, width, other_tile);
      for (int w = 0; w < each; ++w) {
        int const at = (rank + w * Threads) / column_parts * rows;
        int const group = (rank + w * Threads) % column_parts;
        WEFT_UNROLL
        for (int i = 0; i < rows; ++i) {
          number most = largest[w][i];
          for (int g = 0; g < column_parts; ++g) {
            number const of_part = shared[(at + i) * column_parts + g];
            most = of_part > most ? of_part : most;
          }
          number const shrink = math::exp(largest[w][i] - most);
          largest[w][i] = most;
          total[w][i] *= shrink;
          WEFT_UNROLL
          for (int j = 0; j < columns; ++j) out[w][i][j] *= shrink;
          std::int64_t const element = (head * what.length + first + at + i) * what.length + from + group * keys;
          random::words drawn{};
          WEFT_UNROLL
          for (int j = 0; j < keys; ++j) {
            number probability = math::exp(score[w][i][j] - most);
            total[w][i] += probability;
            if constexpr (HasDropout) {
              if (j == 0 || (element + j) % 4 == 0) drawn = mask.draw(sequence, (element + j) / 4);
              probability *= mask.factor(drawn, element + j);
            }
            weights[(at + i) * (wide + 1) + group * keys + j] = probability;
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
      for (int i = 0; i < rows; ++i) shared[(at + i) * column_parts + group] = total[w][i];
    }
    team.team_barrier();
    for (int w = 0; w < each; ++w) {
      int const at = (rank + w * Threads) / column_parts * rows;
      int const group = (rank + w * Threads) % column_parts;
      WEFT_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (at + i >= there) continue;
        number sum = shared[(at + i) * column_parts];
        for (int g = 1; g < column_parts; ++g) sum += shared[(at + i) * column_parts + g];
        number const inverse = number(1) / sum;
        std::int64_t const query = first + at + i;
        Real* const to = mixed + (sequence * what.length + query) * what.shape.width() + head * width;
        WEFT_UNROLL
        for (int j = 0; j < columns; ++j)
          if (group + j * column_parts < width)
            to[group + j * column_parts] = static_cast<Real>(out[w][i][j] * inverse);
        if (group == 0) logsum[pair * what.length + query] = largest[w][i] + math::log(sum);
      }
    }
  }
};

}  // namespace weft::inline v1::model::kernels
