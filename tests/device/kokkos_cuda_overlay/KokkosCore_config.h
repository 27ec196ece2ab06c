// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stands in front of a Kokkos that was configured for the host alone (Debian's libkokkos-dev) and turns it into one for
// Serial and CUDA on Hopper: what that package says of everything else, its version too, is kept. Read twice by nobody,
// like the file that it includes.
#include_next <KokkosCore_config.h>

#undef KOKKOS_ENABLE_OPENMP
#undef KOKKOS_ENABLE_SERIAL
#define KOKKOS_ENABLE_SERIAL
#define KOKKOS_ENABLE_CUDA
#define KOKKOS_ENABLE_CUDA_LAMBDA
#define KOKKOS_ARCH_HOPPER
#define KOKKOS_ARCH_HOPPER90
