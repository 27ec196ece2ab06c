// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// MINI_LLM_VENDOR_LIBRARY: this build has the library of its device's vendor, to compile and to link.
#if !defined(MINI_LLM_VENDOR_LIBRARY)
#include <weft/transport/no_library.hpp>
#else
#include <Kokkos_Core.hpp>
#if defined(KOKKOS_ENABLE_HIP)
#include <weft/transport/rccl.hpp>
#else
#include <weft/transport/nccl.hpp>
#endif
#endif

namespace mini_llm {

#if !defined(MINI_LLM_VENDOR_LIBRARY)
using vendor_library = weft::transport::no_library;
inline constexpr char const* vendor_library_name = "";
inline vendor_library make_vendor_library() { return {}; }
#else
#if defined(KOKKOS_ENABLE_HIP)
using vendor_library = weft::transport::rccl_library;
#else
using vendor_library = weft::transport::nccl_library;
#endif
inline constexpr char const* vendor_library_name = vendor_library::name;
inline vendor_library make_vendor_library() { return vendor_library(Kokkos::DefaultExecutionSpace()); }
#endif

}  // namespace mini_llm
