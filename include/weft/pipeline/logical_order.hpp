// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/pipeline/boundary_view.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

/// @file
/// Between arrays of any layout and the wire, which has one of its own: ranks on CUDA and HIP devices and on hosts
/// store a matrix in different order and with different padding, and mean the same numbers.

namespace weft::inline v1 {

namespace detail {

/// Dimensions of what Kokkos calls a data type: 2 of `double**` and of `double*[3]`.
template <class Data>
inline constexpr int rank_of_data = 0;
template <class Data>
inline constexpr int rank_of_data<Data*> = 1 + rank_of_data<Data>;
template <class Data, std::size_t Count>
inline constexpr int rank_of_data<Data[Count]> = 1 + rank_of_data<Data>;

/// A float from which 16 bits are rounded to what they would be from the number itself: what a float cannot hold makes
/// its last bit odd (Boldo and Melquiond 2008).
KOKKOS_FORCEINLINE_FUNCTION float rounded_to_odd(double value) {
  float const made = static_cast<float>(value);
  double const back = static_cast<double>(made);
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, made);
  if (back == value || value != value || (bits & 1U) != 0U) return made;
  bool const is_short = value < 0.0 ? value < back : value > back;
  return __builtin_bit_cast(float, is_short ? bits + 1U : bits - 1U);
}

/// Numbers of 16 bits are reckoned with as floats; whatever they come from, they are rounded once.
template <class To, class From>
KOKKOS_FORCEINLINE_FUNCTION To as_number(From const& value) {
  constexpr bool is_small = sizeof(To) == 2 && !std::is_arithmetic_v<To>;
  constexpr bool was_small = sizeof(From) == 2 && !std::is_arithmetic_v<From>;
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (is_small && std::is_arithmetic_v<From> && !std::is_same_v<From, float>)
    return To(rounded_to_odd(static_cast<double>(value)));
  else if constexpr (is_small)
    return To(static_cast<float>(value));
  else if constexpr (was_small)
    return static_cast<To>(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

/// Element (row, column) of an array, whose rows are all of its dimensions but the last.
template <class View>
KOKKOS_FORCEINLINE_FUNCTION auto& element_of(View const& array, std::int64_t row, std::int64_t column) {
  constexpr int rank = rank_of_data<typename View::data_type>;
  if constexpr (rank == 1) {
    return array(column);
  } else if constexpr (rank == 2) {
    return array(row, column);
  } else if constexpr (rank == 3) {
    std::int64_t const second = static_cast<std::int64_t>(array.extent(1));
    return array(row / second, row % second, column);
  } else {
    std::int64_t const second = static_cast<std::int64_t>(array.extent(1));
    std::int64_t const third = static_cast<std::int64_t>(array.extent(2));
    return array(row / (second * third), row / third % second, row % third, column);
  }
}

template <class View, class Wire>
struct to_wire_kernel {
  static constexpr char const* label = "weft::to_wire";
  View array;
  Wire* wire;
  execution::column_cut cut;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    std::int64_t const row = index / cut.pieces();
    std::int64_t const piece = index % cut.pieces();
    for (std::int64_t column = cut.begin(piece); column < cut.end(piece); ++column)
      wire[row * cut.columns + column] = as_number<Wire>(element_of(array, row, column));
  }
};

template <class View, class Wire>
struct from_wire_kernel {
  static constexpr char const* label = "weft::from_wire";
  View array;
  Wire const* wire;
  execution::column_cut cut;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    std::int64_t const row = index / cut.pieces();
    std::int64_t const piece = index % cut.pieces();
    for (std::int64_t column = cut.begin(piece); column < cut.end(piece); ++column)
      element_of(array, row, column) = as_number<typename View::non_const_value_type>(wire[row * cut.columns + column]);
  }
};

template <class Space, class View, class MemorySpace>
struct array_facts {
  static constexpr int rank = rank_of_data<typename View::data_type>;
  static_assert(rank >= 1 && rank <= 4,
                "weft::boundary: an array of more than four dimensions, or of none, is no component; give a subview");
  static_assert(Kokkos::SpaceAccessibility<Space, typename View::memory_space>::accessible &&
                    Kokkos::SpaceAccessibility<Space, MemorySpace>::accessible,
                "weft::boundary: the execution space cannot reach the array or the boundary; give the stage's own");

  static std::int64_t columns(View const& array) { return static_cast<std::int64_t>(array.extent(rank - 1)); }
  static std::string shape(View const& array) {
    std::string text;
    for (std::size_t dimension = 0; dimension < rank; ++dimension)
      text += (text.empty() ? "" : " x ") + std::to_string(array.extent(dimension));
    return text;
  }
};

}  // namespace detail

/// Writes `array`, of any layout and padding and of 1 to 4 dimensions, into component `index` in logical row-major
/// order, as numbers of `Wire`, which the boundary declares; sets the component's count to the array's size. Launches
/// one kernel on `space`, does not wait for it, does not communicate. Throws where the component is of another type, or
/// too small.
template <class Wire, class Space, class View, class MemorySpace>
void to_wire(Space const& space, View const& array, boundary_view<MemorySpace>& out, int index) {
  using facts = detail::array_facts<Space, View, MemorySpace>;
  std::int64_t const size = static_cast<std::int64_t>(array.size());
  out.set_elements(index, size);
  auto const wire = out.template view<Wire>(index);
  if (size == 0) return;
  auto const cut = execution::cut_row<Space>(facts::columns(array));
  execution::for_each(space, size / cut.columns * cut.pieces(),
                      detail::to_wire_kernel<View, Wire>{array, wire.data(), cut});
}

/// The other way round: fills `array` with what has come. Throws where its size is not the component's count.
template <class Wire, class Space, class View, class MemorySpace>
void from_wire(Space const& space, boundary_view<MemorySpace> const& in, int index, View const& array) {
  using facts = detail::array_facts<Space, View, MemorySpace>;
  auto const wire = in.template view<Wire>(index);
  std::int64_t const size = static_cast<std::int64_t>(array.size());
  if (size != in.elements(index))
    throw error("weft::boundary: component " + std::to_string(index) + " has brought " +
                std::to_string(in.elements(index)) + " numbers for an array of " + facts::shape(array) +
                "; give both ends arrays of the same extents");
  if (size == 0) return;
  auto const cut = execution::cut_row<Space>(facts::columns(array));
  execution::for_each(space, size / cut.columns * cut.pieces(),
                      detail::from_wire_kernel<View, Wire>{array, wire.data(), cut});
}

}  // namespace weft::inline v1
