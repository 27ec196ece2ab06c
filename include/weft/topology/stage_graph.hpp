// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>

#include <string>

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

/// Owns what a `stage_graph_view` shows. Works while compiling; addresses survive a move.
///
///     auto const graph = stage_graph::chain(4).skip(0, 2).place(placement::loop{}, 4);
///
/// A placement is anything with `rank_of(stage, copy, ranks)` and `copies` (see placement.hpp).
class stage_graph {
 public:
  constexpr stage_graph() = default;

  /// Stages 0 -> 1 -> ... -> stages - 1, all on rank 0 until `place` is called.
  [[nodiscard]] static constexpr stage_graph chain(int stages) {
    if (stages < 1) throw error("weft::stage_graph: " + std::to_string(stages) + " stages; a graph has at least 1");
    stage_graph graph;
    graph.stages_ = stages;
    graph.rank_of_stage_ = weft::detail::buffer<int>(stages);
    graph.edges_ = weft::detail::buffer<edge>(stages - 1);
    for (int stage = 0; stage + 1 < stages; ++stage) graph.edges_[stage] = edge{stage, stage + 1};
    return graph;
  }

  /// Adds an edge that jumps over stages. Throws when it does not lead forward or exists already.
  constexpr stage_graph&& skip(int source, int destination) && {
    add(edge{source, destination});
    return static_cast<stage_graph&&>(*this);
  }
  constexpr stage_graph& skip(int source, int destination) & {
    add(edge{source, destination});
    return *this;
  }

  template <class Placement>
  constexpr stage_graph&& place(Placement const& placement, int ranks) && {
    put(placement, ranks);
    return static_cast<stage_graph&&>(*this);
  }
  template <class Placement>
  constexpr stage_graph& place(Placement const& placement, int ranks) & {
    put(placement, ranks);
    return *this;
  }

  /// A deep copy of another graph's arrays.
  [[nodiscard]] static constexpr stage_graph copy_of(stage_graph_view const& other) {
    stage_graph graph;
    graph.stages_ = other.stages;
    graph.ranks_ = other.ranks;
    graph.copies_ = other.copies;
    graph.rank_of_stage_ = weft::detail::buffer<int>(other.stages * other.copies);
    for (int index = 0; index < other.stages * other.copies; ++index)
      graph.rank_of_stage_[index] = other.rank_of_stage[index];
    graph.edges_ = weft::detail::buffer<edge>(other.edge_count);
    for (int index = 0; index < other.edge_count; ++index) graph.edges_[index] = other.edges[index];
    return graph;
  }

  [[nodiscard]] constexpr stage_graph_view view() const {
    return stage_graph_view{stages_, ranks_, copies_, rank_of_stage_.data(), edges_.data(), edges_.size()};
  }

 private:
  constexpr void add(edge added) {
    if (added.source < 0 || added.destination >= stages_ || added.source >= added.destination)
      throw error("weft::stage_graph: an edge from stage " + std::to_string(added.source) + " to stage " +
                  std::to_string(added.destination) + " in a graph of " + std::to_string(stages_) +
                  " stages; edges lead from a stage to a later one");
    int position = 0;
    while (position < edges_.size() && before(edges_[position], added)) ++position;
    if (position < edges_.size() && edges_[position] == added)
      throw error("weft::stage_graph: the edge from stage " + std::to_string(added.source) + " to stage " +
                  std::to_string(added.destination) + " exists; send two tensors as two components of one boundary");
    weft::detail::buffer<edge> longer(edges_.size() + 1);
    for (int index = 0; index < position; ++index) longer[index] = edges_[index];
    longer[position] = added;
    for (int index = position; index < edges_.size(); ++index) longer[index + 1] = edges_[index];
    edges_ = static_cast<weft::detail::buffer<edge>&&>(longer);
  }

  [[nodiscard]] static constexpr bool before(edge const& left, edge const& right) {
    return left.source != right.source ? left.source < right.source : left.destination < right.destination;
  }

  template <class Placement>
  constexpr void put(Placement const& placement, int ranks) {
    ranks_ = ranks;
    copies_ = placement.copies;
    rank_of_stage_ = weft::detail::buffer<int>(stages_ * copies_);
    for (int copy = 0; copy < copies_; ++copy)
      for (int stage = 0; stage < stages_; ++stage) {
        int const rank = placement.rank_of(stage, copy, ranks);
        if (rank < 0 || rank >= ranks)
          throw error("weft::stage_graph: the placement puts stage " + std::to_string(stage) + " on rank " +
                      std::to_string(rank) + "; there are ranks 0 to " + std::to_string(ranks - 1));
        rank_of_stage_[copy * stages_ + stage] = rank;
      }
  }

  int stages_ = 0;
  int ranks_ = 1;
  int copies_ = 1;
  weft::detail::buffer<int> rank_of_stage_;
  weft::detail::buffer<edge> edges_;
};

}  // namespace weft::inline v1::topology
