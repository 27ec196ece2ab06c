// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host space first: the device's backend names it.
#ifndef KOKKOS_FWD_HPP_
#define KOKKOS_FWD_HPP_
// clang-format off
#include <fwd/Kokkos_Fwd_SERIAL.hpp>
#if defined(__HIPCC__)
#include <fwd/Kokkos_Fwd_HIP.hpp>
#else
#include <fwd/Kokkos_Fwd_CUDA.hpp>
#endif
// clang-format on
#endif
