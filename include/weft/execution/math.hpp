// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Mathematical functions for kernels, the same arithmetic on host and device.
///
/// `exp` and `tanh` are written out here, without branches, tables or library calls, so that g++ vectorises the loops
/// they stand in (libm's scalar expf would cost more than the matrix products of a small model) and so that a vector
/// body and its scalar tail give the same bits. They need IEEE arithmetic in round-to-nearest without contraction,
/// which `weft::numerics` asks for. Largest errors: exp 1.0 ulp, tanh 2 ulp, for float and double
/// (tests/unit/test_math.cpp). Overflow gives infinity, NaN stays NaN.

#include <weft/config.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

namespace weft::inline v1::math {

namespace detail {

/// Constants of exp and tanh for one type; the polynomials were fitted at Chebyshev nodes in 50 digits.
template <class Real>
struct constants;

template <>
struct constants<float> {
  using bits = std::uint32_t;
  static constexpr float rounder =
      12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer and leaves it in the low bits
  static constexpr bits rounder_bits = 0x4B400000U;
  static constexpr bits bias = 127;
  static constexpr int mantissa = 23;
  static constexpr float largest = 89.0F;
  static constexpr float smallest = -104.0F;
  static constexpr float log2_e = 1.4426950408889634F;
  static constexpr float ln2_high = 0.693145751953125F;  // 15 bits: times any exponent it is exact
  static constexpr float ln2_low = 1.428606765330187e-06F;

  /// (exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2, to 1e-8.
  static KOKKOS_FORCEINLINE_FUNCTION float exp_tail(float r) {
    return 0.5F + r * (0.16666576266288757F +
                       r * (0.04166655242443085F + r * (0.00836323294788599F + r * 0.0013926250394433737F)));
  }

  /// (tanh(x) / x - 1) / x^2 as a function of z = x^2, |x| <= 0.625, to 7e-9.
  static KOKKOS_FORCEINLINE_FUNCTION float tanh_tail(float z) {
    return -0.3333333432674408F +
           z * (0.1333330273628235F +
                z * (-0.05395922809839249F +
                     z * (0.021768655627965927F + z * (-0.008343085646629333F + z * 0.0022917704191058874F))));
  }
};

template <>
struct constants<double> {
  using bits = std::uint64_t;
  static constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr bits rounder_bits = 0x4338000000000000ULL;
  static constexpr bits bias = 1023;
  static constexpr int mantissa = 52;
  static constexpr double largest = 710.0;
  static constexpr double smallest = -746.0;
  static constexpr double log2_e = 1.4426950408889634;
  static constexpr double ln2_high = 0.6931471805592082;  // 40 bits
  static constexpr double ln2_low = 7.371002565167799e-13;

  static KOKKOS_FORCEINLINE_FUNCTION double exp_tail(double r) {
    double const low = 0.5 + r * (0.1666666666666667 + r * (0.04166666666666667 + r * 0.008333333333326084));
    double const high =
        0.0013888888888883711 +
        r * (0.0001984126987500228 +
             r * (2.480158732567746e-05 +
                  r * (2.755725517000089e-06 +
                       r * (2.755727347871858e-07 + r * (2.5105312729622103e-08 + r * 2.09147553258932e-09)))));
    return low + (r * r) * (r * r) * high;
  }

  static KOKKOS_FORCEINLINE_FUNCTION double tanh_tail(double z) {
    double const high =
        -0.0014558283631233406 +
        z * (0.0005899815811274601 +
             z * (-0.00023888844776970479 +
                  z * (9.603829184742069e-05 +
                       z * (-3.707610183975954e-05 + z * (1.2204868570057292e-05 + z * -2.4365865605863497e-06)))));
    return -0.3333333333333333 +
           z * (0.1333333333333332 +
                z * (-0.05396825396823572 +
                     z * (0.0218694885351239 + z * (-0.008863235499557543 + z * (0.0035921275038310256 + z * high)))));
  }
};

/// `yes` where the condition holds, else `no`, by masking bits. A conditional expression would invite the compiler to
/// follow the constant path apart (jump threading), and a loop with branches is not vectorised.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real choose(bool condition, Real yes, Real no) {
  using bits = typename constants<Real>::bits;
  bits const mask = bits{0} - static_cast<bits>(condition);
  return __builtin_bit_cast(
      Real, static_cast<bits>((__builtin_bit_cast(bits, yes) & mask) | (__builtin_bit_cast(bits, no) & ~mask)));
}

}  // namespace detail

/// e^x. Range reduction x = n ln 2 + r, |r| <= ln 2 / 2; the power of two is applied in two halves, so that results
/// near overflow and below the smallest normal number come out right.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real exp(Real x) {
  using constant = detail::constants<Real>;
  using bits = typename constant::bits;
  x = detail::choose(x > constant::largest, constant::largest, x);
  x = detail::choose(x < constant::smallest, constant::smallest, x);
  Real const n = (x * constant::log2_e + constant::rounder) - constant::rounder;
  Real const r = (x - n * constant::ln2_high) - n * constant::ln2_low;
  Real const value = Real(1) + (r + r * r * constant::exp_tail(r));
  Real const shifted_half = n * Real(0.5) + constant::rounder;
  Real const shifted_rest = (n - (shifted_half - constant::rounder)) + constant::rounder;
  bits const half = __builtin_bit_cast(bits, shifted_half) - constant::rounder_bits + constant::bias;
  bits const rest = __builtin_bit_cast(bits, shifted_rest) - constant::rounder_bits + constant::bias;
  return value * __builtin_bit_cast(Real, static_cast<bits>(half << constant::mantissa)) *
         __builtin_bit_cast(Real, static_cast<bits>(rest << constant::mantissa));
}

/// tanh(x): a polynomial below 0.625, 1 - 2 / (e^2x + 1) above; both are computed, one is chosen.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real tanh(Real x) {
  using constant = detail::constants<Real>;
  Real const magnitude = detail::choose(x < Real(0), -x, x);
  Real const square = x * x;
  Real const near_zero = x + x * (square * constant::tanh_tail(square));  // may overflow where it is not chosen
  Real const away = Real(1) - Real(2) / (math::exp(magnitude + magnitude) + Real(1));
  Real const with_sign = detail::choose(x < Real(0), -away, away);
  return detail::choose(magnitude < Real(0.625), near_zero, with_sign);
}

/// 1 / (1 + e^-x).
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real sigmoid(Real x) {
  return Real(1) / (Real(1) + math::exp(-x));
}

/// One division and one root, both correctly rounded on every backend; a device's approximate rsqrt is not.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real rsqrt(Real x) {
  return Real(1) / std::sqrt(x);
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real sqrt(Real x) {
  return std::sqrt(x);
}

/// a b + c, for the inner loops of products: one instruction and one rounding on devices, two roundings on hosts, where
/// not every machine has the instruction.
KOKKOS_FORCEINLINE_FUNCTION float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return ::fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
KOKKOS_FORCEINLINE_FUNCTION double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return ::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// The vendor's own; used once per row or per random number, where speed and last bits do not matter.
template <class Real>
KOKKOS_INLINE_FUNCTION Real log(Real x) {
  return std::log(x);
}
template <class Real>
KOKKOS_INLINE_FUNCTION Real cos(Real x) {
  return std::cos(x);
}
template <class Real>
KOKKOS_INLINE_FUNCTION Real sin(Real x) {
  return std::sin(x);
}

}  // namespace weft::inline v1::math
