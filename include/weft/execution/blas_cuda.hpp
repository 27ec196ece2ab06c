// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// cuBLAS behind `blas::handle<Kokkos::Cuda>`; included by blas.hpp where Kokkos has CUDA, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <Kokkos_Core.hpp>

#include <cublas_v2.h>

#include <string>
#include <type_traits>

namespace weft::inline v1::blas::detail {

inline void check_cublas(cublasStatus_t status, char const* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw error(std::string("weft::blas: ") + what + " failed with cuBLAS status " +
                std::to_string(static_cast<int>(status)) + "; see cublasStatus_t in cuBLAS's manual");
}

/// Owns a cuBLAS context bound to one stream. Full precision (no TF32) and no atomics, so that equal calls give equal
/// bits.
class cuda_handle {
 public:
  explicit cuda_handle(Kokkos::Cuda const& space = Kokkos::Cuda{}) {
    check_cublas(cublasCreate(&handle_), "cublasCreate");
    check_cublas(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    check_cublas(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
    bind(space);
  }
  cuda_handle(cuda_handle const&) = delete;
  cuda_handle& operator=(cuda_handle const&) = delete;
  ~cuda_handle() { cublasDestroy(handle_); }

  void bind(Kokkos::Cuda const& space) {
    check_cublas(cublasSetStream(handle_, space.cuda_stream()), "cublasSetStream");
  }

  /// Column-major, strided batch.
  template <class Real>
  void gemm(bool trans_a, bool trans_b, int m, int n, int k, Real alpha, Real const* a, int lda, long long stride_a,
            Real const* b, int ldb, long long stride_b, Real beta, Real* c, int ldc, long long stride_c, int batch) {
    cublasOperation_t const first = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t const second = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    if constexpr (std::is_same_v<Real, float>) {
      check_cublas(cublasSgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                             stride_b, &beta, c, ldc, stride_c, batch),
                   "cublasSgemmStridedBatched");
    } else {
      check_cublas(cublasDgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                             stride_b, &beta, c, ldc, stride_c, batch),
                   "cublasDgemmStridedBatched");
    }
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace weft::inline v1::blas::detail
