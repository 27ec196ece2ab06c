// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// HIP's streams and events; included by marks.hpp where Kokkos has HIP, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>

#include <hip/hip_runtime_api.h>
#include <Kokkos_Core.hpp>

#include <string>

namespace weft::inline v1::execution::detail {

template <class Space>
struct stream_calls;

template <>
struct stream_calls<hip_space> {
  using space = hip_space;
  using stream = hipStream_t;
  using event = hipEvent_t;

  static stream stream_of(space const& instance) { return instance.hip_stream(); }
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
      throw error("weft::device: " + std::string(call) + ": " + hipGetErrorString(result) +
                  "; an earlier kernel may have failed (AMD_SERIALIZE_KERNEL=3 shows which)");
  }
};

}  // namespace weft::inline v1::execution::detail
