// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nccl.h>

#include <weft/config.hpp>
#include <weft/execution/device_runtime.hpp>
#include <weft/transport/detail/calls_of_nccl.hpp>
#include <weft/transport/library_door.hpp>

#include <Kokkos_Core.hpp>

#if !defined(KOKKOS_ENABLE_CUDA)
#error "weft/transport/nccl.hpp needs a Kokkos with the CUDA backend; transport/rccl.hpp is for HIP"
#endif

namespace weft::inline v1::transport {

namespace detail {

/// CUDA's streams and events, as `nccl_calls` uses them.
struct cuda_runtime : execution::stream_calls<Kokkos::Cuda> {
  static constexpr char const* library_name = "nccl";
};

}  // namespace detail

/// NCCL as a `device_library`; see transport/library_door.hpp.
using nccl_library = detail::nccl_calls<detail::cuda_runtime>;

/// A door whose bodies go by NCCL:
///
///     weft::transport::nccl door(world, program, weft::transport::nccl_library(compute), {.members = cuda_ranks});
using nccl = library_door<nccl_library>;

}  // namespace weft::inline v1::transport
