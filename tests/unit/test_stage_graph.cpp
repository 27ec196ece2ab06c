// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/topology/placement.hpp>
#include <weft/topology/stage_graph.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace weft::topology;

namespace {

std::vector<int> ranks_of(stage_graph const& graph) {
  auto const view = graph.view();
  return {view.rank_of_stage, view.rank_of_stage + view.stages * view.copies};
}

constexpr int edges_while_compiling() {
  auto const graph = stage_graph::chain(4).skip(0, 2).place(placement::loop{}, 4);
  return graph.view().edge_count * 10 + graph.view().rank_of(3);
}
static_assert(edges_while_compiling() == 43);

}  // namespace

TEST_CASE("stage_graph: edges are ordered, each once") {
  auto graph = stage_graph::chain(4).skip(1, 3).skip(0, 2);
  auto const view = graph.view();
  std::vector<edge> const edges(view.edges, view.edges + view.edge_count);
  CHECK(edges == std::vector<edge>{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}});
  CHECK_THROWS_AS(graph.skip(0, 1), weft::error);
  CHECK_THROWS_AS(graph.skip(2, 2), weft::error);
  CHECK_THROWS_AS(graph.skip(3, 1), weft::error);
  CHECK_THROWS_AS(graph.skip(-1, 1), weft::error);
  CHECK_THROWS_AS(graph.skip(1, 4), weft::error);
  CHECK_THROWS_AS(static_cast<void>(stage_graph::chain(0)), weft::error);
}

TEST_CASE("stage_graph: placements") {
  CHECK(ranks_of(stage_graph::chain(8).place(placement::loop{}, 4)) == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(ranks_of(stage_graph::chain(8).place(placement::v{}, 4)) == std::vector<int>{0, 1, 2, 3, 3, 2, 1, 0});
  CHECK(ranks_of(stage_graph::chain(4).place(placement::two_way{}, 4)) == std::vector<int>{0, 1, 2, 3, 3, 2, 1, 0});
  int const own[] = {1, 0, 1};
  CHECK(ranks_of(stage_graph::chain(3).place(placement::map{own}, 2)) == std::vector<int>{1, 0, 1});
  CHECK_THROWS_AS(stage_graph::chain(3).place(placement::map{own}, 1), weft::error);
}

TEST_CASE("stage_graph: views outlive a move of their graph") {
  auto graph = stage_graph::chain(3).place(placement::loop{}, 3);
  auto const view = graph.view();
  auto const moved = std::move(graph);
  CHECK(moved.view().edges == view.edges);
  CHECK(view.rank_of(2) == 2);
  auto const copy = stage_graph::copy_of(view);
  CHECK(copy.view().edges != view.edges);
  CHECK(copy.view().edges[1] == edge{1, 2});
}
