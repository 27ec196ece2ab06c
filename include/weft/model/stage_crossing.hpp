// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/call_key.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/plan/precision.hpp>
#include <weft/topology/partition.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft::inline v1::model {

namespace kernels {

template <class From, class To>
struct convert {
  static constexpr char const* label = "weft::convert";
  From const* from;
  To* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    to[index] = static_cast<To>(static_cast<execution::wide<To>>(execution::widen(from[index])));
  }
};

}  // namespace kernels

/// What crosses a stage's edges, as messages have it and as the layers have it. Where the wire has the layers' type,
/// messages are read and written in place; else each is converted, by way of a room of its own. A `position` is between
/// layers: that of layer `position`'s input. Nothing here waits or communicates.
template <class Model, class Number, class Space>
class stage_crossing {
 public:
  using real = typename precision_of<Number>::compute;
  using wire = typename precision_of<Number>::wire;
  using memory_space = typename Space::memory_space;
  using views = boundary_views<memory_space>;

  /// What is converted, each with a room.
  enum class room : std::size_t { fed, gradient, leaving };

  explicit stage_crossing(extents largest) : largest_(largest) {}

  /// [sequences][length][width] of `wire` between two layers, nothing before the first layer and after the last one.
  [[nodiscard]] weft::boundary boundary(int position) const {
    weft::boundary result;
    result.add(scalar_of<wire>, elements_at(position, largest_));
    return result;
  }

  /// Allocates what F of the layers `range` converts by, and what backward does where there is one.
  void make_rooms(topology::layer_range range, bool has_backward) {
    if (!is_converted || range.size() == 0) return;
    bool const has_before = is_between_layers(range.first);
    bool const has_after = is_between_layers(range.last);
    if (has_before) place_in(room::fed);
    if (has_after && has_backward) place_in(room::gradient);
    if (has_after || (has_before && has_backward)) place_in(room::leaving);
  }

  /// What has arrived at `side`, as the layers read it; null where nothing does.
  real const* read([[maybe_unused]] Space const& space, views const& side, [[maybe_unused]] room by,
                   [[maybe_unused]] int position, [[maybe_unused]] extents size) {
    if (side.empty()) return nullptr;
    wire const* const arrived = side[0].template view<wire>(0).data();
    if constexpr (is_converted) {
      execution::for_each(space, elements_at(position, size), kernels::convert<wire, real>{arrived, place_in(by)});
      return place_in(by);
    } else {
      return arrived;
    }
  }

  /// Where layers put what leaves by `side`; null where nothing does.
  real* open(views& side, int position, extents size) {
    if (side.empty()) return nullptr;
    side[0].set_elements(0, elements_at(position, size));
    if constexpr (is_converted)
      return place_in(room::leaving);
    else
      return side[0].template view<real>(0).data();
  }

  /// After the layers have put it there: converts it into the message.
  void send_off([[maybe_unused]] Space const& space, [[maybe_unused]] real const* leaves, [[maybe_unused]] views& side,
                [[maybe_unused]] int position, [[maybe_unused]] extents size) const {
    if constexpr (is_converted) {
      if (side.empty()) return;
      execution::for_each(space, elements_at(position, size),
                          kernels::convert<real, wire>{leaves, side[0].template view<wire>(0).data()});
    }
  }

  /// A stage without layers hands on what it got.
  static void hand_on(Space const& space, views const& from, views& to, int position, extents size) {
    std::int64_t const elements = elements_at(position, size);
    if (!to.empty()) to[0].set_elements(0, elements);
    if (elements == 0 || to.empty() || from.empty()) return;
    using source = Kokkos::View<wire const*, memory_space, Kokkos::MemoryUnmanaged>;
    using destination = Kokkos::View<wire*, memory_space, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(space, destination(to[0].template view<wire>(0).data(), static_cast<std::size_t>(elements)),
                      source(from[0].template view<wire>(0).data(), static_cast<std::size_t>(elements)));
  }

  /// Of the message itself; null where there is none.
  [[nodiscard]] static void const* address(views const& side) {
    return side.empty() ? nullptr : side[0].template view<wire>(0).data();
  }
  void add_rooms_to(call_key& key) const {
    for (auto const& each : rooms_) key.add(each.data());
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& each : rooms_) sum += each.extent(0) * sizeof(real);
    return sum;
  }

 private:
  static constexpr bool is_converted = !std::is_same_v<wire, real>;

  static bool is_between_layers(int position) { return position > 0 && position < Model::layer_count; }
  [[nodiscard]] static std::int64_t elements_at(int position, extents size) {
    return is_between_layers(position) ? Model::boundary_elements(size) : 0;
  }

  real* place_in(room which) {
    auto& view = rooms_[static_cast<std::size_t>(which)];
    if (view.extent(0) == 0)
      view = execution::allocate<Kokkos::View<real*, memory_space>>(
          "weft::converted", static_cast<std::size_t>(Model::boundary_elements(largest_)), Kokkos::WithoutInitializing);
    return view.data();
  }

  extents largest_;
  Kokkos::View<real*, memory_space> rooms_[3];
};

}  // namespace weft::inline v1::model
