// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include_next <desul/atomics/Config.hpp>

#undef DESUL_ATOMICS_ENABLE_OPENMP
#if defined(__HIPCC__)
#define DESUL_ATOMICS_ENABLE_HIP
#else
#define DESUL_ATOMICS_ENABLE_CUDA
#endif
