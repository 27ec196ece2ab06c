// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The doors of mini_llm, with the library of the device's vendor where its header is at hand.
#include <Kokkos_Core.hpp>

#if (defined(KOKKOS_ENABLE_CUDA) && __has_include(<nccl.h>)) || \
    (defined(KOKKOS_ENABLE_HIP) && __has_include(<rccl/rccl.h>))
#define MINI_LLM_VENDOR_LIBRARY
#endif
#include "../../../examples/mini_llm/doors.hpp"

#include <weft/schedule/one_f_one_b.hpp>

// The program's own reads tables from files, which device code has no part in.
weft::schedule::program mini_llm::make_program(options const& chosen, int ranks) {
  return weft::schedule::make_program<weft::schedule::one_f_one_b>(ranks, 4, {.receives = receives_of(chosen)});
}

weft::transport::carrier way_to(mini_llm::options const& chosen, weft::transport::endpoint& ranks, int peer) {
  mini_llm::doors by(chosen, ranks);
  return by.outermost().carries(peer, mini_llm::doors::memory::name());
}
