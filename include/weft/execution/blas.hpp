// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Matrix products, row-major, by whichever library belongs to the execution space: CBLAS on the host, cuBLAS for
/// Kokkos::Cuda, hipBLAS for Kokkos::HIP. One call here is one call there, so equal arguments give equal bits (with the
/// same library, core type and threads). Factors of 16 bits are added up in float, by tensor cores on a device; a host
/// has no such product, and blas_reduced.hpp makes it of float ones.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/blas_reduced.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#if __has_include(<cblas.h>)
#include <cblas.h>
#define WEFT_HAS_CBLAS 1
#else
#define WEFT_HAS_CBLAS 0
#endif

#if defined(KOKKOS_ENABLE_CUDA)
#include <weft/execution/blas_cuda.hpp>
#endif
#if defined(KOKKOS_ENABLE_HIP)
#include <weft/execution/blas_hip.hpp>
#endif

namespace weft::inline v1::blas {

enum class transpose : bool { no, yes };

/// The library's state for one execution-space instance; calls are queued on that instance. Not shared by threads.
/// The host's holds room for factors of 16 bits that have become floats.
template <class Space>
class handle {
 public:
  explicit handle(Space const& = Space{}) {}
  void bind(Space const&) {}
  void set_math_mode(math_mode) {}
  void check_recordable() const {}
  static constexpr std::size_t workspace_bytes = 0;  ///< of a device's memory, held as long as the handle
  [[nodiscard]] detail::float_pieces& pieces() { return pieces_; }

 private:
  detail::float_pieces pieces_;
};

/// A matrix that is stored row-major: row i starts at data + i * leading. `stride` is the distance of consecutive
/// matrices in a batch.
template <class Real>
struct matrix {
  Real* data;
  std::int64_t leading;
  std::int64_t stride = 0;
};

namespace detail {

/// A product's arguments, for those who watch launches.
template <class Number>
struct gemm_words {
  bool is_left_transposed, is_right_transposed;
  std::int64_t depth, left_leading, left_stride, right_leading, right_stride, out_leading, out_stride;
  void const *left, *right, *out;
  Number alpha, beta;
};

inline int narrow(std::int64_t value, char const* what) {
  if (value < 0 || value > 2147483647)
    throw error(std::string("weft::blas: ") + what + " is " + std::to_string(value) +
                ", which 32-bit BLAS cannot take; cut the micro-batch smaller");
  return static_cast<int>(value);
}

}  // namespace detail

#if defined(KOKKOS_ENABLE_CUDA)
template <>
class handle<Kokkos::Cuda> : public detail::cuda_handle {
 public:
  using detail::cuda_handle::cuda_handle;
};
#endif
#if defined(KOKKOS_ENABLE_HIP)
template <>
class handle<hip_space> : public detail::hip_handle {
 public:
  using detail::hip_handle::hip_handle;
};
#endif

/// C = alpha op(A) op(B) + beta C for `batch` matrices, op(A) rows x depth, op(B) depth x columns, C rows x columns.
/// Factors of 16 bits may give a C of floats (`Out`). Nothing is read of C where beta is 0. Does not wait; does not
/// communicate.
template <class Space, class Real, class Out = Real>
void gemm_batched([[maybe_unused]] handle<Space>& state, transpose trans_a, transpose trans_b, std::int64_t rows,
                  std::int64_t columns, std::int64_t depth, std::type_identity_t<execution::wide<Real>> alpha,
                  matrix<Real const> left, matrix<Real const> right, std::type_identity_t<execution::wide<Real>> beta,
                  matrix<Out> out, std::int64_t batch) {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double> || execution::is_reduced<Real>,
                "weft::blas: gemm takes float, double, bfloat16 or float16; convert other types first");
  static_assert(std::is_same_v<Out, Real> || std::is_same_v<Out, execution::wide<Real>>,
                "weft::blas: a product has the type of its factors, or that of their sums; convert afterwards");
  if (rows == 0 || columns == 0 || batch == 0) return;
  WEFT_OBSERVE_LAUNCH(
      "weft::gemm", rows * columns * batch,
      (detail::gemm_words<execution::wide<Real>>{trans_a == transpose::yes, trans_b == transpose::yes, depth,
                                                 left.leading, left.stride, right.leading, right.stride, out.leading,
                                                 out.stride, left.data, right.data, out.data, alpha, beta}));
  int const m = detail::narrow(rows, "the number of rows");
  int const n = detail::narrow(columns, "the number of columns");
  int const k = detail::narrow(depth, "the inner dimension");
  int const lda = detail::narrow(left.leading, "a leading dimension");
  int const ldb = detail::narrow(right.leading, "a leading dimension");
  int const ldc = detail::narrow(out.leading, "a leading dimension");
  if constexpr (execution::is_host_space<Space>) {
#if WEFT_HAS_CBLAS
    auto const first = trans_a == transpose::yes ? CblasTrans : CblasNoTrans;
    auto const second = trans_b == transpose::yes ? CblasTrans : CblasNoTrans;
    for (std::int64_t index = 0; index < batch; ++index) {
      Real const* const a = left.data + index * left.stride;
      Real const* const b = right.data + index * right.stride;
      Out* const c = out.data + index * out.stride;
      if constexpr (std::is_same_v<Real, float>) {
        cblas_sgemm(CblasRowMajor, first, second, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      } else if constexpr (std::is_same_v<Real, double>) {
        cblas_dgemm(CblasRowMajor, first, second, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      } else {
        detail::multiply_pieces(state.pieces(),
                                {trans_a == transpose::yes, trans_b == transpose::yes, rows, columns, depth}, a,
                                left.leading, b, right.leading, beta, c, out.leading,
                                [&](int height, int width, float const* one, int lead_one, float const* other,
                                    int lead_other, float* sums, int lead_sums) {
                                  cblas_sgemm(CblasRowMajor, first, second, height, width, k, alpha, one, lead_one,
                                              other, lead_other, beta, sums, lead_sums);
                                });
      }
    }
#else
    static_assert(sizeof(Real) == 0, "weft::blas: no <cblas.h> was found; install libopenblas-dev");
#endif
  } else {
    // The vendors' libraries are column-major: C^T = op(B)^T op(A)^T needs no copy.
    state.gemm(trans_b == transpose::yes, trans_a == transpose::yes, n, m, k, alpha, right.data, ldb, right.stride,
               left.data, lda, left.stride, beta, out.data, ldc, out.stride,
               detail::narrow(batch, "the size of a batch"));
  }
}

/// C = alpha op(A) op(B) + beta C.
template <class Space, class Real, class Out = Real>
void gemm(handle<Space>& state, transpose trans_a, transpose trans_b, std::int64_t rows, std::int64_t columns,
          std::int64_t depth, std::type_identity_t<execution::wide<Real>> alpha, matrix<Real const> left,
          matrix<Real const> right, std::type_identity_t<execution::wide<Real>> beta, matrix<Out> out) {
  gemm_batched<Space, Real, Out>(state, trans_a, trans_b, rows, columns, depth, alpha, left, right, beta, out, 1);
}

}  // namespace weft::inline v1::blas
