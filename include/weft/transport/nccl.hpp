// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nccl.h>

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/detail/calls_of_nccl.hpp>
#include <weft/transport/library_door.hpp>

#include <cuda_runtime.h>
#include <Kokkos_Core.hpp>

#include <string>

#if !defined(KOKKOS_ENABLE_CUDA)
#error "weft/transport/nccl.hpp needs a Kokkos with the CUDA backend; transport/rccl.hpp is for HIP"
#endif

namespace weft::inline v1::transport {

namespace detail {

/// CUDA's streams and events, as `nccl_calls` uses them.
struct cuda_runtime {
  static constexpr char const* library_name = "nccl";
  using space = Kokkos::Cuda;
  using stream = cudaStream_t;
  using event = cudaEvent_t;

  static stream stream_of(space const& compute) { return compute.cuda_stream(); }
  static stream make_stream() {
    stream made{};
    require(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return made;
  }
  static event make_event() {
    event made{};
    require(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return made;
  }
  static void free_stream(stream old) noexcept { static_cast<void>(cudaStreamDestroy(old)); }
  static void free_event(event old) noexcept { static_cast<void>(cudaEventDestroy(old)); }
  static void record(event into, stream of) { require(cudaEventRecord(into, of), "cudaEventRecord"); }
  static void let_wait(stream waits, event until) {
    require(cudaStreamWaitEvent(waits, until, 0), "cudaStreamWaitEvent");
  }
  static bool has_passed(event asked) {
    auto const found = cudaEventQuery(asked);
    if (found != cudaErrorNotReady) require(found, "cudaEventQuery");
    return found == cudaSuccess;
  }

 private:
  static void require(cudaError_t result, char const* call) {
    if (result != cudaSuccess)
      throw error("weft::transport::nccl: " + std::string(call) + ": " + cudaGetErrorString(result) +
                  "; an earlier kernel may have failed (CUDA_LAUNCH_BLOCKING=1 shows which)");
  }
};

}  // namespace detail

/// NCCL as a `device_library`; see transport/library_door.hpp.
using nccl_library = detail::nccl_calls<detail::cuda_runtime>;

/// A door whose bodies go by NCCL:
///
///     weft::transport::nccl door(world, program, weft::transport::nccl_library(compute), {.members = cuda_ranks});
using nccl = library_door<nccl_library>;

}  // namespace weft::inline v1::transport
