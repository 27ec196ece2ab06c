// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <rccl/rccl.h>

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/detail/calls_of_nccl.hpp>
#include <weft/transport/library_door.hpp>

#include <hip/hip_runtime.h>
#include <Kokkos_Core.hpp>

#include <string>

#if !defined(KOKKOS_ENABLE_HIP)
#error "weft/transport/rccl.hpp needs a Kokkos with the HIP backend; transport/nccl.hpp is for CUDA"
#endif

namespace weft::inline v1::transport {

namespace detail {

/// HIP's streams and events, as `nccl_calls` uses them.
struct hip_runtime {
  static constexpr char const* library_name = "rccl";
  using space = Kokkos::HIP;  // Kokkos 4 and later
  using stream = hipStream_t;
  using event = hipEvent_t;

  static stream stream_of(space const& compute) { return compute.hip_stream(); }
  static stream make_stream() {
    stream made{};
    require(hipStreamCreateWithFlags(&made, hipStreamNonBlocking), "hipStreamCreateWithFlags");
    return made;
  }
  static event make_event() {
    event made{};
    require(hipEventCreateWithFlags(&made, hipEventDisableTiming), "hipEventCreateWithFlags");
    return made;
  }
  static void free_stream(stream old) noexcept { static_cast<void>(hipStreamDestroy(old)); }
  static void free_event(event old) noexcept { static_cast<void>(hipEventDestroy(old)); }
  static void record(event into, stream of) { require(hipEventRecord(into, of), "hipEventRecord"); }
  static void let_wait(stream waits, event until) {
    require(hipStreamWaitEvent(waits, until, 0), "hipStreamWaitEvent");
  }
  static bool has_passed(event asked) {
    auto const found = hipEventQuery(asked);
    if (found != hipErrorNotReady) require(found, "hipEventQuery");
    return found == hipSuccess;
  }

 private:
  static void require(hipError_t result, char const* call) {
    if (result != hipSuccess)
      throw error("weft::transport::rccl: " + std::string(call) + ": " + hipGetErrorString(result) +
                  "; an earlier kernel may have failed (AMD_SERIALIZE_KERNEL=3 shows which)");
  }
};

}  // namespace detail

/// RCCL as a `device_library`; see transport/library_door.hpp.
using rccl_library = detail::nccl_calls<detail::hip_runtime>;

/// A door whose bodies go by RCCL:
///
///     weft::transport::rccl door(world, program, weft::transport::rccl_library(compute), {.members = hip_ranks});
using rccl = library_door<rccl_library>;

}  // namespace weft::inline v1::transport
