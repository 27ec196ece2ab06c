// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Numbers of 16 bits. They store and travel; arithmetic is done in float, and one conversion rounds its result. All
/// conversions round to nearest, ties to even, keep numbers below the smallest normal one, and make NaNs quiet. On a
/// host they are loops of integer operations without branches, which g++ vectorises; on a device, its own instructions.

#include <weft/config.hpp>
#include <weft/plan/precision.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace weft::inline v1 {

namespace execution::detail {

/// All bits where the condition holds, none where it does not.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t mask_of(bool condition) {
  return std::uint32_t{0} - static_cast<std::uint32_t>(condition);
}

KOKKOS_FORCEINLINE_FUNCTION std::uint16_t to_bfloat16(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint16_t result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#else
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, value);
  std::uint32_t const rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  std::uint32_t const quiet = (bits >> 16) | 0x40U;
  std::uint32_t const is_nan = mask_of((bits & 0x7FFFFFFFU) > 0x7F800000U);
  return static_cast<std::uint16_t>((quiet & is_nan) | (rounded & ~is_nan));
#endif
}

KOKKOS_FORCEINLINE_FUNCTION float from_bfloat16(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

KOKKOS_FORCEINLINE_FUNCTION std::uint16_t to_float16(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
#else
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, value);
  std::uint32_t const sign = (bits >> 16) & 0x8000U;
  std::uint32_t const size = bits & 0x7FFFFFFFU;
  // The exponent's bias falls from 127 to 15; a carry out of the mantissa is right as it is.
  std::uint32_t const normal = (size - 0x38000000U + 0xFFFU + ((size >> 13) & 1U)) >> 13;
  // Added to 0.5, a number loses the bits below 2^-24, the smallest that there is, by the rounding of the addition.
  std::uint32_t const tiny = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, size) + 0.5F) - 0x3F000000U;
  std::uint32_t const is_tiny = mask_of(size < 0x38800000U);
  std::uint32_t const is_large = mask_of(size >= 0x477FF000U);  // rounds to infinity
  std::uint32_t const is_nan = mask_of(size > 0x7F800000U);
  std::uint32_t result = (tiny & is_tiny) | (normal & ~is_tiny);
  result = (0x7C00U & is_large) | (result & ~is_large);
  result = ((0x7E00U | ((size >> 13) & 0x3FFU)) & is_nan) | (result & ~is_nan);
  return static_cast<std::uint16_t>(sign | result);
#endif
}

KOKKOS_FORCEINLINE_FUNCTION float from_float16(std::uint16_t half) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(half));
  return result;
#elif defined(__HIP_DEVICE_COMPILE__)
  return static_cast<float>(__builtin_bit_cast(_Float16, half));
#else
  std::uint32_t const sign = (static_cast<std::uint32_t>(half) & 0x8000U) << 16;
  std::uint32_t const size = (static_cast<std::uint32_t>(half) & 0x7FFFU) << 13;
  // 2^112 mends the bias, of normal numbers and of those below.
  float const scaled = __builtin_bit_cast(float, size) * __builtin_bit_cast(float, 0x77800000U);
  std::uint32_t const is_special = mask_of(size >= 0x0F800000U);
  std::uint32_t const is_nan = mask_of(size > 0x0F800000U);
  std::uint32_t const special = 0x7F800000U | size | (0x00400000U & is_nan);
  return __builtin_bit_cast(float,
                            sign | (special & is_special) | (__builtin_bit_cast(std::uint32_t, scaled) & ~is_special));
#endif
}

}  // namespace execution::detail

/// 8 bits of exponent, 7 of mantissa: the range of float, three decimal digits at most.
struct bfloat16 {
  static constexpr char const* name = "bf16";
  std::uint16_t bits;

  bfloat16() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit bfloat16(float value) : bits(execution::detail::to_bfloat16(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION explicit operator float() const { return execution::detail::from_bfloat16(bits); }
};

/// IEEE 754's binary16: 5 bits of exponent, 10 of mantissa; from 6e-8 to 65,504. Its gradients need a scaled loss
/// (train/loss_scale.hpp).
struct float16 {
  static constexpr char const* name = "f16";
  std::uint16_t bits;

  float16() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit float16(float value) : bits(execution::detail::to_float16(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION explicit operator float() const { return execution::detail::from_float16(bits); }
};

static_assert(sizeof(bfloat16) == 2 && sizeof(float16) == 2 && std::is_trivially_copyable_v<bfloat16> &&
              std::is_trivially_copyable_v<float16>);

/// What std::numeric_limits would say.
template <class Real>
struct number_facts;
template <>
struct number_facts<bfloat16> {
  static constexpr int mantissa_bits = 8;  ///< the leading one counted
  static constexpr float epsilon = 0x1p-7F;
  static constexpr float largest = 0x1.FEp127F;
  static constexpr float smallest_normal = 0x1p-126F;
  static constexpr float smallest = 0x1p-133F;
};
template <>
struct number_facts<float16> {
  static constexpr int mantissa_bits = 11;
  static constexpr float epsilon = 0x1p-10F;
  static constexpr float largest = 65504.0F;
  static constexpr float smallest_normal = 0x1p-14F;
  static constexpr float smallest = 0x1p-24F;
};

namespace execution {

template <class Real>
inline constexpr bool is_reduced = std::is_same_v<Real, bfloat16> || std::is_same_v<Real, float16>;

/// In which numbers of Real are worked on: float for 16 bits, else Real itself.
template <class Real>
using wide = std::conditional_t<is_reduced<Real>, float, Real>;

/// A number as it is stored, as one to reckon with.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION wide<Real> widen(Real stored) {
  return static_cast<wide<Real>>(stored);
}

}  // namespace execution

/// Weights, their gradients and all sums in float; activations, their gradients and the messages between stages in 16
/// bits.
using bf16_mixed = precision<weights_in<float>, compute_in<bfloat16>, gradients_in<float>, wire_in<bfloat16>>;
using fp16_mixed = precision<weights_in<float>, compute_in<float16>, gradients_in<float>, wire_in<float16>>;

}  // namespace weft::inline v1
