// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/pipeline/boundary.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::inline v1 {

/// The tensors of one boundary message, in place in its wire buffer. Reading a view copies nothing; what a stage
/// writes into an output view is what is sent.
///
/// Components start at multiples of `alignment` bytes. Does not communicate.
template <class MemorySpace>
class boundary_view {
 public:
  static constexpr std::size_t alignment = 64;

  boundary_view() = default;
  boundary_view(std::byte* payload, boundary const* layout) : payload_(payload), layout_(layout) {
    for (int index = 0; index < layout_->count; ++index) elements_[index] = layout_->components[index].elements;
    place();
  }

  [[nodiscard]] int count() const { return layout_ == nullptr ? 0 : layout_->count; }
  [[nodiscard]] std::int64_t elements(int index) const { return elements_[index]; }

  /// Bytes from the first component to the end of the last one.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Says that this micro-batch carries fewer elements than the boundary allows. Call before taking views of this or
  /// any later component.
  void set_elements(int index, std::int64_t elements) {
    if (index < 0 || index >= count())
      throw error("weft::boundary: there is no component " + std::to_string(index) + "; the boundary has " +
                  std::to_string(count()));
    if (elements < 0 || elements > layout_->components[index].elements)
      throw error("weft::boundary: component " + std::to_string(index) + " cannot hold " + std::to_string(elements) +
                  " elements; its boundary declares at most " + std::to_string(layout_->components[index].elements));
    elements_[index] = elements;
    place();
  }

  /// Component `index` as an unmanaged view, flat or with the given extents (row-major).
  template <class Type>
  [[nodiscard]] auto view(int index) const {
    Type* const first = data<Type>(index);  // refuses what there is not, before its size is asked
    return Kokkos::View<Type*, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryUnmanaged>(
        first, static_cast<std::size_t>(elements_[index]));
  }
  template <class Type>
  [[nodiscard]] auto view(int index, std::int64_t rows, std::int64_t columns) const {
    if (rows < 0 || columns < 0 || (columns > 0 && rows > elements(index) / columns))
      throw error("weft::boundary: component " + std::to_string(index) + " has " + std::to_string(elements(index)) +
                  " elements, not " + std::to_string(rows) + " x " + std::to_string(columns));
    return Kokkos::View<Type**, Kokkos::LayoutRight, MemorySpace, Kokkos::MemoryUnmanaged>(
        data<Type>(index), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  }

 private:
  template <class Type>
  [[nodiscard]] Type* data(int index) const {
    if (index < 0 || index >= count() || layout_->components[index].type != scalar_of<Type>)
      throw error("weft::boundary: component " + std::to_string(index) +
                  " does not exist or has another element type; declare it in the stage's boundary()");
    return reinterpret_cast<Type*>(payload_ + offset_[index]);
  }

  void place() {
    std::size_t offset = 0;
    for (int index = 0; index < layout_->count; ++index) {
      offset_[index] = offset;
      std::size_t const size = static_cast<std::size_t>(elements_[index]) * size_of(layout_->components[index].type);
      bytes_ = offset + size;
      offset += (size + alignment - 1) / alignment * alignment;
    }
  }

  std::byte* payload_ = nullptr;
  boundary const* layout_ = nullptr;
  std::int64_t elements_[boundary::max_components] = {};
  std::size_t offset_[boundary::max_components] = {};
  std::size_t bytes_ = 0;
};

/// All boundaries on one side of a stage, in the order of the graph's edges: one for a chain, none at its ends.
template <class MemorySpace>
class boundary_views {
 public:
  static constexpr int max_edges = max_edges_per_side;

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  boundary_view<MemorySpace>& operator[](int index) { return edges_[index]; }
  boundary_view<MemorySpace> const& operator[](int index) const { return edges_[index]; }
  void push_back(boundary_view<MemorySpace> const& view) { edges_[size_++] = view; }
  void clear() { size_ = 0; }

 private:
  boundary_view<MemorySpace> edges_[max_edges];
  int size_ = 0;
};

}  // namespace weft::inline v1
