// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The CUDA runtime's word on its devices; included by device.hpp where Kokkos has CUDA, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace weft::inline v1::execution::detail {

struct runtime_device {
  std::string name;
  std::string identity;
  std::size_t free_bytes = 0;
  std::size_t bytes = 0;
};

inline void check_cuda(cudaError_t status, char const* what) {
  if (status != cudaSuccess)
    throw error(std::string("weft::device: ") + what + " failed: " + cudaGetErrorString(status) +
                "; see nvidia-smi, and what CUDA_VISIBLE_DEVICES leaves this rank");
}

inline int count_runtime_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

inline void use_runtime_device(int device) { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }

/// The device that this thread has chosen. Its UUID, since numbers count what a rank sees, and not what is there.
inline runtime_device current_runtime_device() {
  int device = 0;
  cudaDeviceProp facts{};
  runtime_device found;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaGetDeviceProperties(&facts, device), "cudaGetDeviceProperties");
  check_cuda(cudaMemGetInfo(&found.free_bytes, &found.bytes), "cudaMemGetInfo");
  found.name = facts.name;
  for (char const byte : facts.uuid.bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    found.identity += text;
  }
  return found;
}

}  // namespace weft::inline v1::execution::detail
