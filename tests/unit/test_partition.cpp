// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/topology/partition.hpp>

#include <algorithm>
#include <random>

using weft::topology::layer_range;
using weft::topology::partition;

namespace {

std::vector<int> sizes(partition const& layers) {
  std::vector<int> result;
  for (auto const& range : layers) result.push_back(range.size());
  return result;
}

double slowest(std::vector<double> const& costs, std::vector<int> const& cut) {
  double worst = 0.0;
  std::size_t layer = 0;
  for (int size : cut) {
    double sum = 0.0;
    for (int index = 0; index < size; ++index) sum += costs[layer++];
    worst = std::max(worst, sum);
  }
  return worst;
}

/// Every way to cut, ends not empty.
void every_cut(int layers, int stages, std::vector<int>& cut, std::vector<std::vector<int>>& all) {
  int const stage = static_cast<int>(cut.size());
  if (stage + 1 == stages) {
    if (layers < 1) return;
    cut.push_back(layers);
    all.push_back(cut);
    cut.pop_back();
    return;
  }
  for (int size = stage == 0 ? 1 : 0; size <= layers; ++size) {
    cut.push_back(size);
    every_cut(layers - size, stages, cut, all);
    cut.pop_back();
  }
}

constexpr double head_heavy[] = {1, 1, 1, 1, 1, 1, 2.5};
static_assert(partition::by_cost(head_heavy, 7, 3)[2] == layer_range{6, 7});
static_assert(partition::even(6, 3)[1] == layer_range{2, 4});
constexpr int wrong[] = {2, 2};
static_assert(weft::topology::check_sizes(wrong, 2, 5).what == weft::topology::partition_fault::wrong_sum);

}  // namespace

TEST_CASE("partition: no layer is lost, none is doubled, whatever the shape") {
  for (int layers = 2; layers <= 40; ++layers)
    for (int stages = 1; stages <= 12; ++stages)
      for (auto const& made :
           {partition::even(layers, stages),
            partition::by_cost(std::vector<double>(static_cast<std::size_t>(layers), 1.0), stages)}) {
        REQUIRE(made.stages() == stages);
        REQUIRE(made.layers() == layers);
        int next = 0;
        for (auto const& range : made) {
          CHECK(range.first == next);
          CHECK(range.last >= range.first);
          next = range.last;
        }
        CHECK(next == layers);
        CHECK(made[0].size() > 0);
        CHECK(made[stages - 1].size() > 0);
        for (int layer = 0; layer < layers; ++layer) {
          auto const range = made[made.stage_of(layer)];
          CHECK(layer >= range.first);
          CHECK(layer < range.last);
        }
      }
  CHECK(sizes(partition::even(30, 4)) == std::vector<int>{8, 8, 7, 7});
  CHECK(sizes(partition::even(4, 6)) == std::vector<int>{1, 1, 1, 0, 0, 1});
}

TEST_CASE("partition by cost: as good as the best of all cuts") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    int const layers = 2 + static_cast<int>(random() % 7);
    int const stages = 1 + static_cast<int>(random() % 5);
    std::vector<double> costs;
    for (int layer = 0; layer < layers; ++layer) costs.push_back(static_cast<double>(random() % 10));
    std::vector<std::vector<int>> all;
    std::vector<int> cut;
    every_cut(layers, stages, cut, all);
    double best = 1e300;
    for (auto const& each : all) best = std::min(best, slowest(costs, each));
    CHECK(slowest(costs, sizes(partition::by_cost(costs, stages))) == best);
  }
}

TEST_CASE("partition by cost: embedding and head count, and so do devices of two speeds") {
  // Measured on two vendors' devices: the head weighs 2.409 layers and the slower device is last: 17 and 15 layers.
  std::vector<double> costs(33, 1.0);
  costs[32] = 2.409;
  double const speeds[] = {549.7, 534.9};
  auto const made = partition::by_cost(costs.data(), 33, 2, speeds);
  CHECK(made[0].size() == 17);
  CHECK(made[1].size() - 1 == 15);
  // Without its weight the head would put the cut elsewhere.
  std::vector<double> const blocks(32, 1.0);
  CHECK(partition::by_cost(blocks.data(), 32, 2, speeds)[0].size() == 16);
  // An embedding that costs nothing shares its stage with as many blocks as the others have.
  CHECK(sizes(partition::by_cost({0, 1, 1, 1, 1, 1, 1, 1, 1, 0}, 4)) == std::vector<int>{3, 2, 2, 3});
}

TEST_CASE("partition: what cannot be is refused with its numbers") {
  auto const why = [](auto&& make) -> std::string {
    try {
      make();
    } catch (weft::error const& found) {
      return found.what();
    }
    return "";
  };
  CHECK(why([] {
          return partition::of({3, 4, 2}, 8);
        }) == "weft::partition: the stages hold 9 layers and the model has 8; remove 1");
  CHECK(why([] {
          return partition::of({3, 2}, 8);
        }) == "weft::partition: the stages hold 5 layers and the model has 8; add 3");
  CHECK(why([] { return partition::of({0, 4, 4}, 8); }).find("stage 0 has no layers") != std::string::npos);
  CHECK(why([] { return partition::of({4, 4, 0}, 8); }).find("stage 2 has no layers") != std::string::npos);
  CHECK(why([] { return partition::of({5, -1, 4}, 8); }).find("stage 1 has -1 layers") != std::string::npos);
  CHECK(why([] { return partition::even(8, 0); }).find("0 stages") != std::string::npos);
  CHECK(why([] { return partition::even(0, 2); }).find("0 layers") != std::string::npos);
  CHECK(why([] { return partition::even(1, 2); }).find("has no layers") != std::string::npos);
  CHECK(why([] { return partition::by_cost({1.0, -1.0}, 2); }).find("the cost of layer 1") != std::string::npos);
  CHECK(sizes(partition::of({2, 0, 0, 6}, 8)) == std::vector<int>{2, 0, 0, 6});
}
