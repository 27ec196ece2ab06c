// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// cuBLAS behind `blas::handle<Kokkos::Cuda>`; included by blas.hpp where Kokkos has CUDA, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace weft::inline v1::blas::detail {

inline void check_cublas(cublasStatus_t status, char const* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw error(std::string("weft::blas: ") + what + " failed with cuBLAS status " +
                std::to_string(static_cast<int>(status)) + "; see cublasStatus_t in cuBLAS's manual");
}

template <class Real>
constexpr cudaDataType_t cuda_type() {
  if constexpr (std::is_same_v<Real, bfloat16>) return CUDA_R_16BF;
  if constexpr (std::is_same_v<Real, float16>) return CUDA_R_16F;
  return CUDA_R_32F;
}

/// Owns a cuBLAS context bound to one stream. No atomics, so that equal calls give equal bits. Floats and doubles in
/// full precision unless TF32 was asked for; 16 bits by tensor cores, whose sums are floats from the first to the last
/// (cuBLAS would otherwise be free to add the parts of a long product in 16 bits).
class cuda_handle {
 public:
  /// What NVIDIA asks for on sm_90; less is a slower product, not a wrong one.
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  explicit cuda_handle(Kokkos::Cuda const& space = Kokkos::Cuda{}) {
    check_cublas(cublasCreate(&handle_), "cublasCreate");
    check_cublas(cublasSetMathMode(handle_, set_), "cublasSetMathMode");
    check_cublas(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
    bind(space);
  }
  cuda_handle(cuda_handle const&) = delete;
  cuda_handle& operator=(cuda_handle const&) = delete;
  ~cuda_handle() { cublasDestroy(handle_); }

  /// With a workspace of the handle's own: cuBLAS's would be taken from the stream's pool, which no recorded call may
  /// do, and a change of stream sets it back.
  void bind(Kokkos::Cuda const& space) {
    if (is_bound_ && stream_ == space.cuda_stream()) return;
    check_cublas(cublasSetStream(handle_, space.cuda_stream()), "cublasSetStream");
    check_cublas(cublasSetWorkspace(handle_, workspace_.data(), workspace_.extent(0)), "cublasSetWorkspace");
    stream_ = space.cuda_stream();
    is_bound_ = true;
  }
  void check_recordable() const {}

  void set_math_mode(math_mode mode) { mode_ = mode; }

  /// Column-major, strided batch.
  template <class Real, class Out>
  void gemm(bool trans_a, bool trans_b, int m, int n, int k, execution::wide<Real> alpha, Real const* a, int lda,
            long long stride_a, Real const* b, int ldb, long long stride_b, execution::wide<Real> beta, Out* c, int ldc,
            long long stride_c, int batch) {
    cublasOperation_t const first = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t const second = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    bool const uses_tf32 = std::is_same_v<Real, float> && mode_ == math_mode::tf32;
    use(uses_tf32 || execution::is_reduced<Real> ? tensor_cores : CUBLAS_PEDANTIC_MATH);
    if constexpr (std::is_same_v<Real, double>) {
      check_cublas(cublasDgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                             stride_b, &beta, c, ldc, stride_c, batch),
                   "cublasDgemmStridedBatched");
      return;
    } else {
      if constexpr (std::is_same_v<Real, float>) {
        if (!uses_tf32) {
          check_cublas(cublasSgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                                 stride_b, &beta, c, ldc, stride_c, batch),
                       "cublasSgemmStridedBatched");
          return;
        }
      }
      check_cublas(cublasGemmStridedBatchedEx(
                       handle_, first, second, m, n, k, &alpha, a, cuda_type<Real>(), lda, stride_a, b,
                       cuda_type<Real>(), ldb, stride_b, &beta, c, cuda_type<Out>(), ldc, stride_c, batch,
                       uses_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmStridedBatchedEx");
    }
  }

 private:
  static constexpr cublasMath_t tensor_cores =
      static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

  void use(cublasMath_t wanted) {
    if (wanted == set_) return;
    check_cublas(cublasSetMathMode(handle_, wanted), "cublasSetMathMode");
    set_ = wanted;
  }

  cublasHandle_t handle_ = nullptr;
  Kokkos::View<std::byte*, Kokkos::CudaSpace> workspace_ =
      execution::allocate<Kokkos::View<std::byte*, Kokkos::CudaSpace>>("weft::blas_workspace", workspace_bytes,
                                                                       Kokkos::WithoutInitializing);
  cudaStream_t stream_ = nullptr;
  bool is_bound_ = false;
  cublasMath_t set_ = CUBLAS_PEDANTIC_MATH;
  math_mode mode_ = math_mode::full;
};

}  // namespace weft::inline v1::blas::detail
