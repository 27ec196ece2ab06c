// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/program_view.hpp>

/// @file
/// What every pass over a table begins with. A pass reads a program and writes another one with the same graph, name
/// and work; each does one thing, works while compiling too, and does not communicate.
namespace weft::inline v1::schedule::passes {

constexpr int action_count(program_view const& of) {
  int total = 0;
  for (int rank = 0; rank < of.ranks(); ++rank) total += of.row(rank).size;
  return total;
}

/// An empty program on the same graph, with room for `capacity` actions.
constexpr program like(program_view const& other, int capacity) {
  program result(other.name, topology::stage_graph::copy_of(other.graph), other.micro_batches, other.work, capacity);
  result.set_recomputes(other.recomputes);
  return result;
}

}  // namespace weft::inline v1::schedule::passes
