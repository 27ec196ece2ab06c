// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/topology/axis.hpp>

#include <string>
#include <type_traits>

namespace weft::inline v1::topology {

/// A mesh whose every extent is known: the arithmetic between ranks and coordinates.
/// Coordinates are in the order in which the axes were named.
struct mesh_shape {
  static constexpr int most_axes = 5;

  int axes = 0;
  int extent[most_axes] = {};
  int stride[most_axes] = {};  ///< rank difference of two neighbours along the axis
  char const* name[most_axes] = {};

  [[nodiscard]] constexpr int ranks() const {
    int product = 1;
    for (int index = 0; index < axes; ++index) product *= extent[index];
    return product;
  }
  [[nodiscard]] constexpr int coordinate(int rank, int index) const { return rank / stride[index] % extent[index]; }
  [[nodiscard]] constexpr int rank(int const* coordinates) const {
    int result = 0;
    for (int index = 0; index < axes; ++index) result += coordinates[index] * stride[index];
    return result;
  }
};

/// Whether a mesh fits a world: product * (dynamic extent) == world.
struct mesh_check {
  bool legal = true;
  int world = 0;
  int product = 1;  ///< of the static extents
  bool has_dynamic = false;

  /// The world sizes nearest to `world` that would fit; 0 where there is none below.
  [[nodiscard]] constexpr int below() const {
    return has_dynamic ? world / product * product : (product < world ? product : 0);
  }
  [[nodiscard]] constexpr int above() const { return has_dynamic ? world / product * product + product : product; }
};

/// "weft::mesh: pipeline 4 x data 2 needs 8 ranks, not 6; start 8".
inline std::string explain(mesh_check const& check, std::string const& axes) {
  std::string const world = std::to_string(check.world);
  if (check.legal) return "weft::mesh: " + axes + " fits " + world + " ranks";
  std::string text = "weft::mesh: " + axes + " needs ";
  text += check.has_dynamic ? "a multiple of " : "";
  text += std::to_string(check.product) + (check.product == 1 ? " rank, not " : " ranks, not ") + world + "; start ";
  if (check.has_dynamic && check.below() > 0) text += std::to_string(check.below()) + " or ";
  return text + std::to_string(check.above());
}

namespace detail {

template <class Type>
struct is_axis : std::false_type {};
template <class Tag, int Extent>
struct is_axis<axis<Tag, Extent>> : std::true_type {};
template <class Type>
struct is_order : std::false_type {};
template <class... Tags>
struct is_order<rank_order<Tags...>> : std::true_type {};

struct mesh_parts {
  int axes = 0;
  int orders = 0;
  int others = 0;
};

/// Strides when `order` names the axes from the fastest to the slowest.
constexpr void set_strides(mesh_shape& shape, int const* order) {
  int stride = 1;
  for (int place = 0; place < shape.axes; ++place) {
    shape.stride[order[place]] = stride;
    stride *= shape.extent[order[place]];
  }
}

constexpr bool same_name(char const* left, char const* right) {
  while (*left != '\0' && *left == *right) {
    ++left;
    ++right;
  }
  return *left == *right;
}

template <class... Tags>
constexpr int order_size(rank_order<Tags...>) {
  return static_cast<int>(sizeof...(Tags));
}

/// Fills `order` with indices of axes; false where a name is unknown or twice.
template <class... Tags>
constexpr bool read_order(mesh_shape const& shape, int* order, rank_order<Tags...>) {
  char const* const names[] = {Tags::name..., nullptr};
  bool used[mesh_shape::most_axes] = {};
  for (int place = 0; place < static_cast<int>(sizeof...(Tags)); ++place) {
    int found = -1;
    for (int index = 0; index < shape.axes; ++index)
      if (!used[index] && same_name(shape.name[index], names[place])) found = index;
    if (found < 0) return false;
    used[found] = true;
    order[place] = found;
  }
  return true;
}

}  // namespace detail

/// The ranks of a job as a box: `mesh<axis<pipeline, 4>, axis<data, dynamic>>`.
///
/// The axis named last varies fastest with the rank, unless a `rank_order<...>` among the parameters says otherwise.
/// At most one axis may be `dynamic`; it takes the ranks that are left. A mesh that does not multiply to the world is
/// refused with the nearest sizes that would.
template <class... Parts>
class mesh {
  static constexpr int axis_count = (0 + ... + static_cast<int>(detail::is_axis<Parts>::value));
  static constexpr int order_count = (0 + ... + static_cast<int>(detail::is_order<Parts>::value));
  static_assert(axis_count + order_count == static_cast<int>(sizeof...(Parts)),
                "weft::mesh: a parameter is neither an axis nor a rank_order; write axis<pipeline, 4>");
  static_assert(axis_count >= 1, "weft::mesh: there is no axis; write mesh<axis<pipeline, 4>>");
  static_assert(axis_count <= mesh_shape::most_axes,
                "weft::mesh: more than five axes; there are five kinds, each once");
  static_assert(order_count <= 1, "weft::mesh: two rank orders; keep one");

  template <class Part>
  static constexpr void collect(mesh_shape& shape) {
    if constexpr (detail::is_axis<Part>::value) {
      shape.name[shape.axes] = Part::tag::name;
      shape.extent[shape.axes] = Part::extent;
      ++shape.axes;
    }
  }
  static constexpr mesh_shape declared() {
    mesh_shape shape;
    (collect<Parts>(shape), ...);
    return shape;
  }
  static constexpr mesh_shape axes_ = declared();

  static constexpr int count_dynamic() {
    int count = 0;
    for (int index = 0; index < axes_.axes; ++index) count += axes_.extent[index] == dynamic;
    return count;
  }
  static constexpr bool names_differ() {
    for (int left = 0; left < axes_.axes; ++left)
      for (int right = left + 1; right < axes_.axes; ++right)
        if (detail::same_name(axes_.name[left], axes_.name[right])) return false;
    return true;
  }
  static_assert(count_dynamic() <= 1, "weft::mesh: two axes are dynamic; give one of them a number");
  static_assert(names_differ(), "weft::mesh: an axis is named twice; keep one");

  template <class Part>
  static constexpr bool take_order(mesh_shape const& shape, int* order) {
    if constexpr (detail::is_order<Part>::value)
      return detail::order_size(Part{}) == shape.axes && detail::read_order(shape, order, Part{});
    else
      return true;
  }
  static constexpr bool order_of(mesh_shape const& shape, int* order) {
    for (int place = 0; place < shape.axes; ++place) order[place] = shape.axes - 1 - place;
    return (take_order<Parts>(shape, order) && ...);
  }
  static constexpr bool order_is_complete() {
    int order[mesh_shape::most_axes] = {};
    return order_of(axes_, order);
  }
  static_assert(order_is_complete(), "weft::mesh: the rank_order does not name every axis exactly once; name them all");

 public:
  static constexpr bool is_static = count_dynamic() == 0;

  /// Extent of the axis of a tag: `dynamic` where it is, 1 where the mesh has no such axis.
  template <class Tag>
  static constexpr int extent() {
    for (int index = 0; index < axes_.axes; ++index)
      if (detail::same_name(axes_.name[index], Tag::name)) return axes_.extent[index];
    return 1;
  }

  /// Whether the mesh names the axis of a tag, of whatever extent.
  template <class Tag>
  static constexpr bool has_axis() {
    for (int index = 0; index < axes_.axes; ++index)
      if (detail::same_name(axes_.name[index], Tag::name)) return true;
    return false;
  }

  /// Ranks of a static mesh; `dynamic` otherwise.
  [[nodiscard]] static constexpr int ranks() { return is_static ? axes_.ranks() : dynamic; }

  [[nodiscard]] static constexpr mesh_check check(int world) {
    mesh_check result;
    result.world = world;
    result.has_dynamic = !is_static;
    for (int index = 0; index < axes_.axes; ++index)
      if (axes_.extent[index] != dynamic) result.product *= axes_.extent[index];
    result.legal = is_static ? result.product == world : world >= result.product && world % result.product == 0;
    return result;
  }

  /// The mesh of a world of this size. Throws `weft::error` when it does not multiply.
  [[nodiscard]] static constexpr mesh_shape shape(int world) {
    mesh_check const found = check(world);
    if (!found.legal) throw error(explain(found, describe()));
    mesh_shape result = axes_;
    for (int index = 0; index < result.axes; ++index)
      if (result.extent[index] == dynamic) result.extent[index] = world / found.product;
    int order[mesh_shape::most_axes] = {};
    order_of(result, order);
    detail::set_strides(result, order);
    return result;
  }

  /// Coordinate of a rank along an axis; 0 where the mesh has no such axis.
  template <class Tag>
  [[nodiscard]] static constexpr int coordinate(int rank, int world) {
    mesh_shape const known = shape(world);
    for (int index = 0; index < known.axes; ++index)
      if (detail::same_name(known.name[index], Tag::name)) return known.coordinate(rank, index);
    return 0;
  }

  /// "pipeline 4 x data dynamic".
  [[nodiscard]] static std::string describe() {
    std::string text;
    for (int index = 0; index < axes_.axes; ++index) {
      if (index > 0) text += " x ";
      text += axes_.name[index];
      text += axes_.extent[index] == dynamic ? std::string(" dynamic") : " " + std::to_string(axes_.extent[index]);
    }
    return text;
  }
};

/// The arguments: whether it fits, ranks of the world, the product of the mesh, and the nearest world above.
template <bool Fits, int World, int Product, int Above>
struct mesh_must_multiply {
  static_assert(Fits, "weft::mesh: the axes do not multiply to the world; start as many ranks as the mesh has places");
  static constexpr bool value = true;
};

/// For a world that is known while compiling: true, or an error that says what would fit.
template <class Mesh, int World>
inline constexpr bool mesh_fits =
    mesh_must_multiply<Mesh::check(World).legal, World, Mesh::check(World).product, Mesh::check(World).above()>::value;

}  // namespace weft::inline v1::topology

namespace weft::inline v1 {
using topology::mesh;
using topology::mesh_fits;
}  // namespace weft::inline v1
