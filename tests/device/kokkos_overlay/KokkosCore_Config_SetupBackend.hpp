// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOS_SETUP_HPP_
#define KOKKOS_SETUP_HPP_
#if defined(__HIPCC__)
#include <setup/Kokkos_Setup_HIP.hpp>
#else
#include <setup/Kokkos_Setup_Cuda.hpp>
#endif
#endif
