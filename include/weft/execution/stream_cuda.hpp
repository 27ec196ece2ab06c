// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// CUDA's streams and events; included by marks.hpp where Kokkos has CUDA, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cuda_runtime_api.h>
#include <Kokkos_Core.hpp>

#include <string>

namespace weft::inline v1::execution::detail {

template <class Space>
struct stream_calls;

template <>
struct stream_calls<Kokkos::Cuda> {
  using space = Kokkos::Cuda;
  using stream = cudaStream_t;
  using event = cudaEvent_t;

  static stream stream_of(space const& instance) { return instance.cuda_stream(); }
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
      throw error("weft::device: " + std::string(call) + ": " + cudaGetErrorString(result) +
                  "; an earlier kernel may have failed (CUDA_LAUNCH_BLOCKING=1 shows which)");
  }
};

}  // namespace weft::inline v1::execution::detail
