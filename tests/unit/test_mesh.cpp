// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/topology/mesh.hpp>

#include <set>
#include <string>

using namespace weft;

namespace {

using grid = mesh<axis<pipeline_axis, 4>, axis<data_axis, dynamic>>;
using flat = mesh<axis<pipeline_axis, 2>, axis<tensor_axis, 2>, axis<data_axis, 3>>;
using turned = mesh<axis<pipeline_axis, 2>, axis<data_axis, 3>, rank_order<pipeline_axis, data_axis>>;

static_assert(flat::ranks() == 12);
static_assert(flat::is_static && !grid::is_static && grid::ranks() == dynamic);
static_assert(flat::extent<tensor_axis>() == 2 && flat::extent<expert_axis>() == 1);
static_assert(grid::check(8).legal && !grid::check(6).legal && !grid::check(0).legal);
static_assert(grid::check(6).below() == 4 && grid::check(6).above() == 8);
static_assert(flat::check(12).legal && !flat::check(24).legal);
static_assert(grid::coordinate<pipeline_axis>(5, 8) == 2 && grid::coordinate<data_axis>(5, 8) == 1);
static_assert(turned::coordinate<pipeline_axis>(5, 6) == 1 && turned::coordinate<data_axis>(5, 6) == 2);

}  // namespace

TEST_CASE("mesh: ranks and coordinates are one to one") {
  auto const shape = flat::shape(12);
  CHECK(shape.ranks() == 12);
  std::set<std::string> seen;
  for (int rank = 0; rank < 12; ++rank) {
    int coordinates[3] = {};
    std::string text;
    for (int index = 0; index < 3; ++index) {
      coordinates[index] = shape.coordinate(rank, index);
      CHECK(coordinates[index] >= 0);
      CHECK(coordinates[index] < shape.extent[index]);
      text += std::to_string(coordinates[index]) + " ";
    }
    seen.insert(text);
    CHECK(shape.rank(coordinates) == rank);
  }
  CHECK(seen.size() == 12);
  // The axis named last varies fastest; with a rank_order, the one named first there.
  CHECK(shape.stride[2] == 1);
  CHECK(shape.stride[0] == 6);
  CHECK(turned::shape(6).stride[0] == 1);
}

TEST_CASE("mesh: a world that does not multiply is refused with those that would") {
  auto const why = [](auto&& make) -> std::string {
    try {
      make();
    } catch (error const& found) {
      return found.what();
    }
    return "";
  };
  CHECK(why([] { return grid::shape(6); }) ==
        "weft::mesh: pipeline 4 x data dynamic needs a multiple of 4 ranks, not 6; start 4 or 8");
  CHECK(why([] { return grid::shape(3); }) ==
        "weft::mesh: pipeline 4 x data dynamic needs a multiple of 4 ranks, not 3; start 4");
  CHECK(why([] { return flat::shape(8); }) ==
        "weft::mesh: pipeline 2 x tensor 2 x data 3 needs 12 ranks, not 8; start 12");
  CHECK(why([] { return mesh<axis<pipeline_axis, dynamic>>::shape(0); }).find("start 1") != std::string::npos);
  CHECK(grid::shape(12).extent[1] == 3);
}
