// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Boundaries by NCCL or RCCL, where its header is at hand.
#include <weft/pipeline/wire_buffer.hpp>

#if defined(KOKKOS_ENABLE_CUDA) && __has_include(<nccl.h>)
#include <weft/transport/nccl.hpp>
static_assert(weft::transport::device_library<weft::transport::nccl_library>);
template class weft::transport::library_door<weft::transport::nccl_library>;
#elif defined(KOKKOS_ENABLE_HIP) && __has_include(<rccl/rccl.h>)
#include <weft/transport/rccl.hpp>
static_assert(weft::transport::device_library<weft::transport::rccl_library>);
template class weft::transport::library_door<weft::transport::rccl_library>;
#endif
