// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stands in front of a Kokkos that was configured for the host alone (Debian's libkokkos-dev) and turns it into one for
// Serial and a device, by the compiler: nvcc's is CUDA on Hopper, hipcc's is HIP on MI200 and MI300, between which no
// header of Kokkos makes a difference. What that package says of everything else, its version too, is kept. Read twice
// by nobody, like the file that it includes.
#include_next <KokkosCore_config.h>

#undef KOKKOS_ENABLE_OPENMP
#undef KOKKOS_ENABLE_SERIAL
#define KOKKOS_ENABLE_SERIAL
#if defined(__HIPCC__)
#define KOKKOS_ENABLE_HIP
#define KOKKOS_ARCH_AMD_GFX942
#define KOKKOS_ARCH_AMD_GPU "gfx942"
#else
#define KOKKOS_ENABLE_CUDA
#define KOKKOS_ENABLE_CUDA_LAMBDA
#define KOKKOS_ARCH_HOPPER
#define KOKKOS_ARCH_HOPPER90
#endif
