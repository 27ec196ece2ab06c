// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host space first: the CUDA backend names it.
#ifndef KOKKOS_DECLARE_HPP_
#define KOKKOS_DECLARE_HPP_
// clang-format off
#include <decl/Kokkos_Declare_SERIAL.hpp>
#include <decl/Kokkos_Declare_CUDA.hpp>
// clang-format on
#endif
