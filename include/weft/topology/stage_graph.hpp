// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

namespace weft::inline v1::topology {

/// A boundary: what leaves stage `source` and enters stage `destination` in the forward direction; its gradient
/// travels back. Skip connections are ordinary edges.
struct edge {
  int source = 0;
  int destination = 0;

  friend constexpr bool operator==(edge const&, edge const&) = default;
};

/// Non-owning view of the stages, the edges between them, and the rank that each stage is placed on. Nothing in weft
/// assumes that stage s talks to s - 1 and s + 1 alone.
///
/// `rank_of_stage[copy * stages + stage]`; edges are ordered by (source, destination), each at most once.
struct stage_graph_view {
  int stages = 0;
  int ranks = 0;
  int copies = 1;
  int const* rank_of_stage = nullptr;
  edge const* edges = nullptr;
  int edge_count = 0;

  [[nodiscard]] constexpr int rank_of(int stage, int copy = 0) const { return rank_of_stage[copy * stages + stage]; }
};

}  // namespace weft::inline v1::topology
