// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The HIP runtime's word on its devices; included by device.hpp where Kokkos has HIP, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <string>

namespace weft::inline v1::execution::detail {

struct runtime_device {
  std::string name;
  std::string identity;
  std::size_t free_bytes = 0;
  std::size_t bytes = 0;
};

inline void check_hip(hipError_t status, char const* what) {
  if (status != hipSuccess)
    throw error(std::string("weft::device: ") + what + " failed: " + hipGetErrorString(status) +
                "; see rocm-smi, and what ROCR_VISIBLE_DEVICES leaves this rank");
}

inline int count_runtime_devices() {
  int count = 0;
  return hipGetDeviceCount(&count) == hipSuccess ? count : 0;
}

inline void use_runtime_device(int device) { check_hip(hipSetDevice(device), "hipSetDevice"); }

/// The device that this thread has chosen. Its place on the bus, since numbers count what a rank sees, and not what is
/// there.
inline runtime_device current_runtime_device() {
  int device = 0;
  hipDeviceProp_t facts{};
  runtime_device found;
  char place[32] = {};
  check_hip(hipGetDevice(&device), "hipGetDevice");
  check_hip(hipGetDeviceProperties(&facts, device), "hipGetDeviceProperties");
  check_hip(hipMemGetInfo(&found.free_bytes, &found.bytes), "hipMemGetInfo");
  check_hip(hipDeviceGetPCIBusId(place, sizeof place, device), "hipDeviceGetPCIBusId");
  found.name = facts.name;
  found.identity = place;
  return found;
}

}  // namespace weft::inline v1::execution::detail
