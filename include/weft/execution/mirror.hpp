// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/pinned.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace weft::inline v1::execution {

/// The host's side of a flat view.
template <class View>
using mirror_of =
    Kokkos::View<typename View::non_const_value_type*, Kokkos::LayoutRight, pinned<typename View::memory_space>>;

/// The view itself where it lives in host memory, and shares its memory if it owns some; else pinned memory as large,
/// not initialised, under `label`. Does not copy; throws `memory_error`.
template <class View>
[[nodiscard]] mirror_of<View> make_mirror([[maybe_unused]] char const* label, View const& view) {
  if constexpr (!std::is_same_v<typename View::memory_space, Kokkos::HostSpace>)
    return allocate<mirror_of<View>>(label, view.extent(0), Kokkos::WithoutInitializing);
  else if constexpr (!View::memory_traits::is_unmanaged)
    return view;
  else
    return mirror_of<View>(view.data(), view.extent(0));
}

}  // namespace weft::inline v1::execution
