// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <rccl/rccl.h>

#include <weft/config.hpp>
#include <weft/execution/device_runtime.hpp>
#include <weft/transport/detail/calls_of_nccl.hpp>
#include <weft/transport/library_door.hpp>

#include <Kokkos_Core.hpp>

#if !defined(KOKKOS_ENABLE_HIP)
#error "weft/transport/rccl.hpp needs a Kokkos with the HIP backend; transport/nccl.hpp is for CUDA"
#endif

namespace weft::inline v1::transport {

namespace detail {

/// HIP's streams and events, as `nccl_calls` uses them.
struct hip_runtime : execution::stream_calls<execution::hip_space> {
  static constexpr char const* library_name = "rccl";
};

}  // namespace detail

/// RCCL as a `device_library`; see transport/library_door.hpp.
using rccl_library = detail::nccl_calls<detail::hip_runtime>;

/// A door whose bodies go by RCCL:
///
///     weft::transport::rccl door(world, program, weft::transport::rccl_library(compute), {.members = hip_ranks});
using rccl = library_door<rccl_library>;

}  // namespace weft::inline v1::transport
