// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule {

/// The sizes of a table that is known while compiling.
struct table_size {
  int ranks = 0;
  int stages = 0;
  int copies = 1;
  int edges = 0;
  int actions = 0;

  friend constexpr bool operator==(table_size const&, table_size const&) = default;
};

constexpr table_size size_of(program_view const& program) {
  table_size result{program.ranks(), program.stages(), program.graph.copies, program.graph.edge_count, 0};
  for (int rank = 0; rank < program.ranks(); ++rank) result.actions += program.row(rank).size;
  return result;
}

/// A program in arrays of fixed size: what a plan keeps as a constant. Views need a table with static storage.
template <table_size Size>
struct table {
  action actions[Size.actions > 0 ? Size.actions : 1] = {};
  int row_begin[Size.ranks + 1] = {};
  int row_of_rank[Size.ranks] = {};
  int rank_of_stage[Size.stages * Size.copies] = {};
  topology::edge edges[Size.edges > 0 ? Size.edges : 1] = {};
  slot_counts slots[Size.stages * Size.copies] = {};
  bool is_lowered = false;
  bool recomputes = false;
  int micro_batches = 0;
  work_set work = {};
};

/// Copies a program into a constant.
template <table_size Size>
constexpr table<Size> freeze(program_view const& program) {
  table<Size> result;
  int next = 0;
  for (int rank = 0; rank < Size.ranks; ++rank) {
    row_view const row = program.row(rank);
    for (int index = 0; index < row.size; ++index) result.actions[next++] = row.actions[index];
    result.row_begin[rank + 1] = next;
    result.row_of_rank[rank] = rank;
  }
  for (int stage = 0; stage < Size.stages * Size.copies; ++stage) {
    result.rank_of_stage[stage] = program.graph.rank_of_stage[stage];
    if (program.is_lowered) result.slots[stage] = program.slots[stage];
  }
  for (int edge = 0; edge < Size.edges; ++edge) result.edges[edge] = program.graph.edges[edge];
  result.is_lowered = program.is_lowered;
  result.recomputes = program.recomputes;
  result.micro_batches = program.micro_batches;
  result.work = program.work;
  return result;
}

/// The rows of a table as pointers; a constant of its own, since a table cannot point into itself.
template <int Ranks>
struct table_rows {
  row_view rows[Ranks] = {};
};

template <table_size Size>
constexpr table_rows<Size.ranks> rows_of(table<Size> const& from) {
  table_rows<Size.ranks> result;
  for (int rank = 0; rank < Size.ranks; ++rank)
    result.rows[rank] = row_view{from.actions + from.row_begin[rank], from.row_begin[rank + 1] - from.row_begin[rank]};
  return result;
}

template <table_size Size>
constexpr program_view view_of(table<Size> const& from, table_rows<Size.ranks> const& rows, char const* name) {
  program_view result;
  result.rows = rows.rows;
  result.row_count = Size.ranks;
  result.row_of_rank = from.row_of_rank;
  result.micro_batches = from.micro_batches;
  result.graph =
      topology::stage_graph_view{Size.stages, Size.ranks, Size.copies, from.rank_of_stage, from.edges, Size.edges};
  result.work = from.work;
  if (from.is_lowered) result.slots = from.slots;
  result.is_lowered = from.is_lowered;
  result.recomputes = from.recomputes;
  result.name = name;
  return result;
}

}  // namespace weft::inline v1::schedule
