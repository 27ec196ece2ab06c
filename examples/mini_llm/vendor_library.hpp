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

/// What this build hands boundaries to under `--door nccl`. `name`: empty where it has nothing.
struct own_vendor {
#if !defined(MINI_LLM_VENDOR_LIBRARY)
  using library = weft::transport::no_library;
  static constexpr char const* name = "";
  static library make() { return {}; }
#else
#if defined(KOKKOS_ENABLE_HIP)
  using library = weft::transport::rccl_library;
#else
  using library = weft::transport::nccl_library;
#endif
  static constexpr char const* name = library::name;
  static library make() { return library(Kokkos::DefaultExecutionSpace()); }
#endif
};

}  // namespace mini_llm
