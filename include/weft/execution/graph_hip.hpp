// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// HIP's graphs; included by graph.hpp where Kokkos has HIP, by nobody else.

#include <weft/config.hpp>

#include <Kokkos_Core.hpp>

#include <hip/hip_runtime_api.h>

namespace weft::inline v1::execution::detail {

struct hip_graph_calls {
  using status = hipError_t;
  using stream = hipStream_t;
  using graph = hipGraph_t;
  using executable = hipGraphExec_t;
  static constexpr status success = hipSuccess;
  static constexpr char const* vendor = "HIP";

  static stream stream_of(hip_space const& space) { return space.hip_stream(); }
  /// Of this thread alone: other ranks of the process may wait for their streams meanwhile.
  static status begin(stream at) { return hipStreamBeginCapture(at, hipStreamCaptureModeThreadLocal); }
  static status end(stream at, graph* recorded) { return hipStreamEndCapture(at, recorded); }
  static status instantiate(executable* made, graph recorded) {
    return hipGraphInstantiateWithFlags(made, recorded, 0);
  }
  static status launch(executable made, stream at) { return hipGraphLaunch(made, at); }
  static void destroy(graph recorded) { static_cast<void>(hipGraphDestroy(recorded)); }
  static void destroy(executable made) { static_cast<void>(hipGraphExecDestroy(made)); }
  static char const* words(status what) { return hipGetErrorString(what); }
  static void forget_error() { static_cast<void>(hipGetLastError()); }
};

}  // namespace weft::inline v1::execution::detail
