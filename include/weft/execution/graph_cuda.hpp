// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// CUDA's graphs; included by graph.hpp where Kokkos has CUDA, by nobody else.

#include <weft/config.hpp>

#include <Kokkos_Core.hpp>

#include <cuda_runtime_api.h>

namespace weft::inline v1::execution::detail {

struct cuda_graph_calls {
  using status = cudaError_t;
  using stream = cudaStream_t;
  using graph = cudaGraph_t;
  using executable = cudaGraphExec_t;
  static constexpr status success = cudaSuccess;
  static constexpr char const* vendor = "CUDA";

  static stream stream_of(Kokkos::Cuda const& space) { return space.cuda_stream(); }
  /// Of this thread alone: other ranks of the process may wait for their streams meanwhile.
  static status begin(stream at) { return cudaStreamBeginCapture(at, cudaStreamCaptureModeThreadLocal); }
  static status end(stream at, graph* recorded) { return cudaStreamEndCapture(at, recorded); }
  static status instantiate(executable* made, graph recorded) {
    return cudaGraphInstantiateWithFlags(made, recorded, 0);
  }
  static status launch(executable made, stream at) { return cudaGraphLaunch(made, at); }
  static void destroy(graph recorded) { static_cast<void>(cudaGraphDestroy(recorded)); }
  static void destroy(executable made) { static_cast<void>(cudaGraphExecDestroy(made)); }
  static char const* words(status what) { return cudaGetErrorString(what); }
  static void forget_error() { static_cast<void>(cudaGetLastError()); }
};

}  // namespace weft::inline v1::execution::detail
