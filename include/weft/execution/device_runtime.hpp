// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Streams, events and graphs of the device's runtime, by one set of names: CUDA and HIP have the same calls, and
/// differ in a prefix. On a build for hosts alone there is nothing here.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <string>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#define WEFT_RUNTIME(name) cuda##name
#elif defined(KOKKOS_ENABLE_HIP)
#include <hip/hip_runtime_api.h>
#define WEFT_RUNTIME(name) hip##name
#endif

namespace weft::inline v1::execution {

/// Streams and events of a device's execution space; hosts have none.
template <class Space>
struct stream_calls;

#if defined(WEFT_RUNTIME)

#if defined(KOKKOS_ENABLE_CUDA)
using device_space = Kokkos::Cuda;
#else
using device_space = hip_space;
#endif

namespace detail {

struct runtime_words {
#if defined(KOKKOS_ENABLE_CUDA)
  static constexpr char const* vendor = "CUDA";
  static constexpr char const* prefix = "cuda";
  static constexpr char const* shows_which = "CUDA_LAUNCH_BLOCKING=1";
#else
  static constexpr char const* vendor = "HIP";
  static constexpr char const* prefix = "hip";
  static constexpr char const* shows_which = "AMD_SERIALIZE_KERNEL=3";
#endif
};

}  // namespace detail

/// Throws weft::error where a call fails. None of them waits.
template <>
struct stream_calls<device_space> {
  using space = device_space;
  using stream = WEFT_RUNTIME(Stream_t);
  using event = WEFT_RUNTIME(Event_t);

  static stream stream_of(space const& instance) { return instance.WEFT_RUNTIME(_stream)(); }
  static stream make_stream() {
    stream made{};
    require(WEFT_RUNTIME(StreamCreateWithFlags)(&made, WEFT_RUNTIME(StreamNonBlocking)), "StreamCreateWithFlags");
    return made;
  }
  static event make_event() {
    event made{};
    require(WEFT_RUNTIME(EventCreateWithFlags)(&made, WEFT_RUNTIME(EventDisableTiming)), "EventCreateWithFlags");
    return made;
  }
  static void free_stream(stream old) noexcept { static_cast<void>(WEFT_RUNTIME(StreamDestroy)(old)); }
  static void free_event(event old) noexcept { static_cast<void>(WEFT_RUNTIME(EventDestroy)(old)); }
  static void record(event into, stream of) { require(WEFT_RUNTIME(EventRecord)(into, of), "EventRecord"); }
  static void let_wait(stream waits, event until) {
    require(WEFT_RUNTIME(StreamWaitEvent)(waits, until, 0), "StreamWaitEvent");
  }
  static bool has_passed(event asked) {
    auto const found = WEFT_RUNTIME(EventQuery)(asked);
    if (found != WEFT_RUNTIME(ErrorNotReady)) require(found, "EventQuery");
    return found == WEFT_RUNTIME(Success);
  }

 private:
  static void require(WEFT_RUNTIME(Error_t) result, char const* call) {
    using words = detail::runtime_words;
    if (result != WEFT_RUNTIME(Success))
      throw error("weft::device: " + std::string(words::prefix) + call + ": " + WEFT_RUNTIME(GetErrorString)(result) +
                  "; an earlier kernel may have failed (" + words::shows_which + " shows which)");
  }
};

namespace detail {

/// What graph.hpp asks of graphs.
struct graph_calls {
  using status = WEFT_RUNTIME(Error_t);
  using stream = WEFT_RUNTIME(Stream_t);
  using graph = WEFT_RUNTIME(Graph_t);
  using executable = WEFT_RUNTIME(GraphExec_t);
  static constexpr status success = WEFT_RUNTIME(Success);
  static constexpr char const* vendor = runtime_words::vendor;

  static stream stream_of(device_space const& space) { return stream_calls<device_space>::stream_of(space); }
  /// Of this thread alone: other ranks of the process may wait for their streams meanwhile.
  static status begin(stream at) {
    return WEFT_RUNTIME(StreamBeginCapture)(at, WEFT_RUNTIME(StreamCaptureModeThreadLocal));
  }
  static status end(stream at, graph* recorded) { return WEFT_RUNTIME(StreamEndCapture)(at, recorded); }
  static status instantiate(executable* made, graph recorded) {
    return WEFT_RUNTIME(GraphInstantiateWithFlags)(made, recorded, 0);
  }
  static status launch(executable made, stream at) { return WEFT_RUNTIME(GraphLaunch)(made, at); }
  static void destroy(graph recorded) { static_cast<void>(WEFT_RUNTIME(GraphDestroy)(recorded)); }
  static void destroy(executable made) { static_cast<void>(WEFT_RUNTIME(GraphExecDestroy)(made)); }
  static char const* words(status what) { return WEFT_RUNTIME(GetErrorString)(what); }
  static void forget_error() { static_cast<void>(WEFT_RUNTIME(GetLastError)()); }
};

}  // namespace detail

#undef WEFT_RUNTIME
#endif

}  // namespace weft::inline v1::execution
