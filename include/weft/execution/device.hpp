// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What a rank computes on, and which of a node's devices it takes.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/topology/vendor.hpp>

#include <Kokkos_Core.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#if defined(KOKKOS_ENABLE_CUDA)
#include <weft/execution/device_cuda.hpp>
#define WEFT_HAS_DEVICE_RUNTIME 1
#elif defined(KOKKOS_ENABLE_HIP)
#include <weft/execution/device_hip.hpp>
#define WEFT_HAS_DEVICE_RUNTIME 1
#else
#define WEFT_HAS_DEVICE_RUNTIME 0
#endif

namespace weft::inline v1::execution {

/// Whose device `Space` runs on. A build of Kokkos has one device backend, so what is not the host's is that one's.
template <class Space>
constexpr topology::vendor vendor_of() {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (!is_host_space<Space>) return topology::vendor::cuda;
#elif defined(KOKKOS_ENABLE_HIP)
  if constexpr (!is_host_space<Space>) return topology::vendor::hip;
#endif
  return topology::vendor::host;
}

/// What a rank computes on.
struct device_facts {
  topology::vendor whose = topology::vendor::host;
  std::string name;
  std::string identity;  ///< of a device, the same for all who see it; empty on the host, which ranks may share
  std::int64_t bytes = 0;
  std::int64_t free_bytes = 0;
};

/// Of the device that Kokkos computes on, or of the host. Call it after Kokkos is initialised. Throws where the
/// vendor's runtime does not answer.
template <class Space>
device_facts facts_of_device() {
  device_facts found;
  found.whose = vendor_of<Space>();
#if WEFT_HAS_DEVICE_RUNTIME
  if constexpr (!is_host_space<Space>) {
    auto const device = detail::current_runtime_device();
    found.name = device.name;
    found.identity = device.identity;
    found.bytes = static_cast<std::int64_t>(device.bytes);
    found.free_bytes = static_cast<std::int64_t>(device.free_bytes);
    return found;
  }
#endif
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; found.name.empty() && std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) found.name = line.substr((std::min)(line.find(": ") + 2, line.size()));
  if (found.name.empty()) found.name = "processor";
  std::int64_t const page = sysconf(_SC_PAGESIZE);
  found.bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  found.free_bytes = static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  return found;
}

/// Devices that this process sees; 0 in a build without a device backend.
inline int count_devices() {
#if WEFT_HAS_DEVICE_RUNTIME
  return detail::count_runtime_devices();
#else
  return 0;
#endif
}

/// Makes `device` this thread's own, so that an MPI that starts afterwards binds to it.
inline void use_device([[maybe_unused]] int device) {
#if WEFT_HAS_DEVICE_RUNTIME
  detail::use_runtime_device(device);
#endif
}

/// A rank's number among those of its node, as its launcher's environment says; -1 where no launcher does. It is there
/// before MPI is.
inline int launched_node_rank() {
  // Intel MPI and MPICH (Hydra), Open MPI, MVAPICH, Cray's PALS and ALPS, Flux, Slurm last: its steps start the others'
  // daemons.
  for (char const* name :
       {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK",
        "PALS_LOCAL_RANKID", "PMIX_LOCAL_RANK", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"})
    if (char const* const text = std::getenv(name); text != nullptr && *text != '\0') {
      char* end = nullptr;
      long const rank = std::strtol(text, &end, 10);
      if (*end == '\0' && rank >= 0 && rank < 1'000'000) return static_cast<int>(rank);
    }
  return -1;
}

/// A rank among those of its node.
struct node_place {
  int number = 0;  ///< among the ranks whose devices are of its own vendor
  int alike = 1;   ///< how many those are
  int ranks = 1;   ///< of the node

  friend bool operator==(node_place const&, node_place const&) = default;
};

/// By what number a rank takes a device: the launcher's, where it says one (-1: it does not), since that is what a
/// device was chosen by before MPI began. Beside ranks of another vendor, which see none of its devices, it counts
/// among its like alone.
constexpr int number_for_device(int launched, node_place const& place) {
  return launched >= 0 && place.alike == place.ranks ? launched : place.number;
}

/// The device of a rank of a node where it sees `devices`: they are dealt out in turn. -1 where there is none. A
/// launcher may show every rank one device of its own, so a number that comes twice says nothing yet; that two ranks
/// share a device is found out by its identity (transport/card.hpp).
constexpr int device_of_rank(int node_rank, int devices) {
  return devices < 1 ? -1 : (node_rank < 0 ? 0 : node_rank % devices);
}

/// Whether the user has said which device Kokkos is to take, on the command line or in the environment: it is then left
/// alone.
inline bool is_device_chosen(int argc, char const* const* argv) {
  for (int index = 1; index < argc; ++index)
    for (char const* const option : {"--kokkos-device", "--kokkos-num-devices", "--kokkos-map-device-id-by"})
      if (std::strncmp(argv[index], option, std::strlen(option)) == 0) return true;
  for (char const* const variable :
       {"KOKKOS_DEVICE_ID", "KOKKOS_NUM_DEVICES", "KOKKOS_MAP_DEVICE_ID_BY", "KOKKOS_VISIBLE_DEVICES"})
    if (std::getenv(variable) != nullptr) return true;
  return false;
}

}  // namespace weft::inline v1::execution
