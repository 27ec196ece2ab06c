// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/topology/vendor.hpp>
#include <weft/transport/device_support.hpp>

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <cstddef>
#include <string>

namespace weft::inline v1::transport {

/// The MPI library's own word on pointers to a vendor's memory. Call it after MPI_Init. Does not communicate. It is no
/// more than a word: some libraries answer for what they were built with, not for what they run on.
inline device_answer ask_mpi_for_device(topology::vendor whose) {
  if (whose == topology::vendor::host) return device_answer::yes;  // what MPI is for
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000
  int const answer = whose == topology::vendor::cuda ? MPIX_Query_cuda_support() : MPIX_Query_hip_support();
  return answer != 0 ? device_answer::yes : device_answer::no;
#else
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  if (whose == topology::vendor::cuda) return MPIX_Query_cuda_support() != 0 ? device_answer::yes : device_answer::no;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT)
  if (whose == topology::vendor::hip) return MPIX_Query_rocm_support() != 0 ? device_answer::yes : device_answer::no;
#endif
  static_cast<void>(whose);
  return device_answer::unknown;
#endif
}

/// For people: this MPI, and its word on device memory. Call it after MPI_Init. Does not communicate.
inline std::string mpi_text() {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(library, &length);
  std::string text(library, static_cast<std::size_t>(length));
  text.resize((std::min)(text.find_first_of("\n,"), text.size()));
  for (char& letter : text)
    if (letter == '\t') letter = ' ';
  text += ", takes device memory by its own word:";
  for (auto const whose : {topology::vendor::cuda, topology::vendor::hip}) {
    device_answer const said = ask_mpi_for_device(whose);
    text += whose == topology::vendor::cuda ? " CUDA " : ", HIP ";
    text += said == device_answer::yes ? "yes" : said == device_answer::no ? "no" : "unknown";
  }
  return text;
}

}  // namespace weft::inline v1::transport
