// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

namespace weft::inline v1::execution {

namespace detail {

template <class MemorySpace>
struct pinned_for {
  using type = Kokkos::HostSpace;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct pinned_for<Kokkos::CudaSpace> {
  using type = Kokkos::CudaHostPinnedSpace;
};
#endif
#if defined(KOKKOS_ENABLE_HIP)
template <>
struct pinned_for<hip_space::memory_space> {
  using type = hip_pinned_space;
};
#endif

}  // namespace detail

/// The host's side of copies from and to MemorySpace: memory that a device's copy engine reads at full speed, and while
/// others compute (from plain host memory a runtime copies by way of a small buffer of its own, and waits for it).
/// Plain host memory where there is no device.
template <class MemorySpace>
using pinned = typename detail::pinned_for<MemorySpace>::type;

}  // namespace weft::inline v1::execution
