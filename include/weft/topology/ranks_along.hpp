// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/topology/axis.hpp>
#include <weft/topology/mesh.hpp>

#include <vector>

namespace weft::inline v1::topology {

/// Index of an axis in a mesh, or -1 where the mesh has none of that kind.
template <axis_tag Tag>
constexpr int index_of(mesh_shape const& shape) {
  for (int index = 0; index < shape.axes; ++index)
    if (detail::same_name(shape.name[index], Tag::name)) return index;
  return -1;
}

/// Ranks along an axis: 1 where the mesh has none of that kind.
template <axis_tag Tag>
constexpr int extent_of(mesh_shape const& shape) {
  int const index = index_of<Tag>(shape);
  return index < 0 ? 1 : shape.extent[index];
}

/// A rank's coordinate along an axis: 0 where the mesh has none of that kind.
template <axis_tag Tag>
constexpr int coordinate_of(mesh_shape const& shape, int rank) {
  int const index = index_of<Tag>(shape);
  return index < 0 ? 0 : shape.coordinate(rank, index);
}

/// The ranks that differ from `rank` in their coordinate along one axis alone, itself included, by that coordinate.
template <axis_tag Tag>
std::vector<int> ranks_along(mesh_shape const& shape, int rank) {
  int const index = index_of<Tag>(shape);
  if (index < 0) return {rank};
  std::vector<int> line;
  int const first = rank - shape.coordinate(rank, index) * shape.stride[index];
  for (int place = 0; place < shape.extent[index]; ++place) line.push_back(first + place * shape.stride[index]);
  return line;
}

}  // namespace weft::inline v1::topology
