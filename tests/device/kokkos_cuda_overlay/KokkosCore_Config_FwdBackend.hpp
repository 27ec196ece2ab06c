// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host space first: the CUDA backend names it.
#ifndef KOKKOS_FWD_HPP_
#define KOKKOS_FWD_HPP_
// clang-format off
#include <fwd/Kokkos_Fwd_SERIAL.hpp>
#include <fwd/Kokkos_Fwd_CUDA.hpp>
// clang-format on
#endif
