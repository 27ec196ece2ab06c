// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host space first: the device's backend names it.
#ifndef KOKKOS_DECLARE_HPP_
#define KOKKOS_DECLARE_HPP_
// clang-format off
#include <decl/Kokkos_Declare_SERIAL.hpp>
#if defined(__HIPCC__)
#include <decl/Kokkos_Declare_HIP.hpp>
#else
#include <decl/Kokkos_Declare_CUDA.hpp>
#endif
// clang-format on
#endif
