// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// hipBLAS behind `blas::handle<Kokkos::HIP>`; included by blas.hpp where Kokkos has HIP, by nobody else.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>

#include <Kokkos_Core.hpp>

#include <hipblas/hipblas.h>

#include <cstdlib>
#include <string>
#include <type_traits>

namespace weft::inline v1::blas {

using execution::hip_space;

namespace detail {

inline void check_hipblas(hipblasStatus_t status, char const* what) {
  if (status != HIPBLAS_STATUS_SUCCESS)
    throw error(std::string("weft::blas: ") + what + " failed with hipBLAS status " +
                std::to_string(static_cast<int>(status)) + "; see hipblasStatus_t in hipBLAS's manual");
}

// hipBLAS 3 has HIP's own names of types and a type of its own for sums; before, both were hipblasDatatype_t.
#if hipblasVersionMajor >= 3
using hip_type = hipDataType;
template <class Real>
constexpr hip_type hip_type_of() {
  if constexpr (std::is_same_v<Real, bfloat16>) return HIP_R_16BF;
  if constexpr (std::is_same_v<Real, float16>) return HIP_R_16F;
  return HIP_R_32F;
}
inline constexpr hipblasComputeType_t hip_sums = HIPBLAS_COMPUTE_32F;
inline constexpr hipblasComputeType_t hip_sums_tf32 = HIPBLAS_COMPUTE_32F_FAST_TF32;
#else
using hip_type = hipblasDatatype_t;
template <class Real>
constexpr hip_type hip_type_of() {
  if constexpr (std::is_same_v<Real, bfloat16>) return HIPBLAS_R_16B;
  if constexpr (std::is_same_v<Real, float16>) return HIPBLAS_R_16F;
  return HIPBLAS_R_32F;
}
inline constexpr hipblasDatatype_t hip_sums = HIPBLAS_R_32F;
inline constexpr hipblasDatatype_t hip_sums_tf32 = HIPBLAS_R_32F;
#endif

/// Owns a hipBLAS context bound to one stream; no atomics, so that equal calls give equal bits. 16 bits by matrix cores
/// with sums in float.
class hip_handle {
 public:
  /// rocBLAS takes its own as products need it, or ROCBLAS_DEVICE_MEMORY_SIZE at once.
  static constexpr std::size_t workspace_bytes = 0;

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

  void set_math_mode(math_mode mode) { mode_ = mode; }

  /// rocBLAS's workspace grows and moves by default, under calls that were recorded with the old one.
  void check_recordable() const {
    char const* const bytes = std::getenv("ROCBLAS_DEVICE_MEMORY_SIZE");
    if (bytes == nullptr || std::atoll(bytes) <= 0)  // 0: as by default
      throw error(
          "weft::graph: rocBLAS's workspace may move, and recorded calls would use the old one; set "
          "ROCBLAS_DEVICE_MEMORY_SIZE=134217728 in the environment of every rank, which fixes it, or train "
          "without capture");
  }

  /// Column-major, strided batch.
  template <class Real, class Out>
  void gemm(bool trans_a, bool trans_b, int m, int n, int k, execution::wide<Real> alpha, Real const* a, int lda,
            long long stride_a, Real const* b, int ldb, long long stride_b, execution::wide<Real> beta, Out* c, int ldc,
            long long stride_c, int batch) {
    hipblasOperation_t const first = trans_a ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    hipblasOperation_t const second = trans_b ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    bool const uses_tf32 = std::is_same_v<Real, float> && mode_ == math_mode::tf32;
    if constexpr (std::is_same_v<Real, double>) {
      check_hipblas(hipblasDgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                               stride_b, &beta, c, ldc, stride_c, batch),
                    "hipblasDgemmStridedBatched");
      return;
    } else {
      if constexpr (std::is_same_v<Real, float>) {
        if (!uses_tf32) {
          check_hipblas(hipblasSgemmStridedBatched(handle_, first, second, m, n, k, &alpha, a, lda, stride_a, b, ldb,
                                                   stride_b, &beta, c, ldc, stride_c, batch),
                        "hipblasSgemmStridedBatched");
          return;
        }
      }
      check_hipblas(
          hipblasGemmStridedBatchedEx(handle_, first, second, m, n, k, &alpha, a, hip_type_of<Real>(), lda, stride_a, b,
                                      hip_type_of<Real>(), ldb, stride_b, &beta, c, hip_type_of<Out>(), ldc, stride_c,
                                      batch, uses_tf32 ? hip_sums_tf32 : hip_sums, HIPBLAS_GEMM_DEFAULT),
          "hipblasGemmStridedBatchedEx");
    }
  }

 private:
  hipblasHandle_t handle_ = nullptr;
  math_mode mode_ = math_mode::full;
};

}  // namespace detail

}  // namespace weft::inline v1::blas
