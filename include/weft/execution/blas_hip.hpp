// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// hipBLAS behind `blas::handle<Kokkos::HIP>`; included by blas.hpp where Kokkos has HIP, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <Kokkos_Core.hpp>

#include <hipblas/hipblas.h>

#include <string>
#include <type_traits>

namespace weft::inline v1::blas {

// The backend left Kokkos::Experimental with Kokkos 4.
#if KOKKOS_VERSION >= 40000
using hip_space = Kokkos::HIP;
#else
using hip_space = Kokkos::Experimental::HIP;
#endif

namespace detail {

inline void check_hipblas(hipblasStatus_t status, char const* what) {
  if (status != HIPBLAS_STATUS_SUCCESS)
    throw error(std::string("weft::blas: ") + what + " failed with hipBLAS status " +
                std::to_string(static_cast<int>(status)) + "; see hipblasStatus_t in hipBLAS's manual");
}

/// Owns a hipBLAS context bound to one stream; no atomics, so that equal calls give equal bits.
class hip_handle {
 public:
  explicit hip_handle(hip_space const& space = hip_space{}) {
    check_hipblas(hipblasCreate(&handle_), "hipblasCreate");
    check_hipblas(hipblasSetAtomicsMode(handle_, HIPBLAS_ATOMICS_NOT_ALLOWED), "hipblasSetAtomicsMode");
    bind(space);
  }
  hip_handle(hip_handle const&) = delete;
  hip_handle& operator=(hip_handle const&) = delete;
  ~hip_handle() { (void)hipblasDestroy(handle_); }

  void bind(hip_space const& space) {
    check_hipblas(hipblasSetStream(handle_, space.hip_stream()), "hipblasSetStream");
  }

  /// Column-major, strided batch.
  template <class Real>
  void gemm(bool trans_a, bool trans_b, int m, int n, int k, Real alpha, Real const* a, int lda, long long stride_a,
            Real const* b, int ldb, long long stride_b, Real beta, Real* c, int ldc, long long stride_c, int batch) {
    hipblasOperation_t const first = trans_a ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    hipblasOperation_t const second = trans_b ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    if constexpr (std::is_same_v<Real, float>) {
      check_hipblas(hipblasSgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                               stride_b, &beta, c, ldc, stride_c, batch),
                    "hipblasSgemmStridedBatched");
    } else {
      check_hipblas(hipblasDgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                               stride_b, &beta, c, ldc, stride_c, batch),
                    "hipblasDgemmStridedBatched");
    }
  }

 private:
  hipblasHandle_t handle_ = nullptr;
};

}  // namespace detail

}  // namespace weft::inline v1::blas
