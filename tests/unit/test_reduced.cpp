// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/reduced.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using weft::bfloat16;
using weft::float16;

/// Fields of a format, and the value that they stand for by the standard's own formula, in double.
template <class Real>
struct format;
template <>
struct format<bfloat16> {
  static constexpr int mantissa = 7;
  static constexpr int bias = 127;
};
template <>
struct format<float16> {
  static constexpr int mantissa = 10;
  static constexpr int bias = 15;
};

template <class Real>
double meaning(std::uint32_t bits) {
  using fields = format<Real>;
  int const width = 15 - fields::mantissa;
  int const exponent = static_cast<int>((bits & 0x7FFFU) >> fields::mantissa);
  auto const mantissa = static_cast<double>(bits & ((1U << fields::mantissa) - 1U));
  double const sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << width) - 1)
    return mantissa > 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - fields::bias - fields::mantissa);
  return sign * std::ldexp(std::ldexp(1.0, fields::mantissa) + mantissa, exponent - fields::bias - fields::mantissa);
}

template <class Real>
Real of_bits(std::uint32_t bits) {
  return std::bit_cast<Real>(static_cast<std::uint16_t>(bits));
}

}  // namespace

TEST_CASE_TEMPLATE("reduced: each of the 65,536 values means what the standard says, and comes back", Real, bfloat16,
                   float16) {
  constexpr std::uint32_t quiet = 1U << (format<Real>::mantissa - 1);
  int wrong = 0;
  int lost = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto const value = static_cast<float>(of_bits<Real>(bits));
    double const wanted = meaning<Real>(bits);
    if (std::isnan(wanted)) {
      wrong += !std::isnan(value) || ((bits & 0x8000U) != 0) != std::signbit(value);
      std::uint32_t const back = Real(value).bits;
      lost += back != (bits | quiet);
    } else {
      wrong += static_cast<double>(value) != wanted || std::signbit(value) != std::signbit(wanted);
      lost += Real(value).bits != bits;
    }
  }
  CHECK(wrong == 0);
  CHECK(lost == 0);
}

TEST_CASE_TEMPLATE("reduced: floats between two values round to the nearer one, ties to the even one", Real, bfloat16,
                   float16) {
  constexpr std::uint32_t infinity = ((1U << (15 - format<Real>::mantissa)) - 1U) << format<Real>::mantissa;
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    double const low = meaning<Real>(bits);
    // Past the largest value, the next one would be where infinity begins.
    double const high = bits + 1 < infinity ? meaning<Real>(bits + 1) : low + (low - meaning<Real>(bits - 1));
    double const exact = (low + high) / 2;
    auto const middle = static_cast<float>(exact);
    if (static_cast<double>(middle) != exact) continue;  // only below the smallest float
    for (std::uint32_t const sign : {0U, 0x8000U}) {
      auto const found = [&](float value) { return std::uint32_t{Real(sign != 0 ? -value : value).bits} ^ sign; };
      wrong += found(middle) != bits + (bits & 1U);
      wrong += found(std::nextafterf(middle, 0.0F)) != bits;
      wrong += found(std::nextafterf(middle, std::numeric_limits<float>::infinity())) != bits + 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(Real(std::numeric_limits<float>::max()).bits == infinity);
  CHECK(Real(-std::numeric_limits<float>::infinity()).bits == (infinity | 0x8000U));
  CHECK(Real(std::numeric_limits<float>::denorm_min()).bits == 0);
}

TEST_CASE("reduced: NaNs are quiet, with their sign") {
  for (std::uint32_t const bits : {0x7F800001U, 0xFF800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0x7FC00000U}) {
    auto const value = std::bit_cast<float>(bits);
    std::uint32_t const brain = bfloat16(value).bits;
    std::uint32_t const half = float16(value).bits;
    CHECK((brain & 0x7FC0U) == 0x7FC0U);
    CHECK((half & 0x7E00U) == 0x7E00U);
    CHECK((brain >> 15) == (bits >> 31));
    CHECK((half >> 15) == (bits >> 31));
  }
}

TEST_CASE_TEMPLATE("reduced: facts", Real, bfloat16, float16) {
  using facts = weft::number_facts<Real>;
  auto const value = [](std::uint32_t bits) { return static_cast<float>(of_bits<Real>(bits)); };
  constexpr std::uint32_t infinity = ((1U << (15 - format<Real>::mantissa)) - 1U) << format<Real>::mantissa;
  CHECK(facts::largest == value(infinity - 1));
  CHECK(facts::smallest == value(1));
  CHECK(facts::smallest_normal == value(1U << format<Real>::mantissa));
  CHECK(facts::mantissa_bits == format<Real>::mantissa + 1);
  CHECK(1.0F + facts::epsilon == static_cast<float>(Real(1.0F + facts::epsilon)));
  CHECK(static_cast<float>(Real(1.0F + facts::epsilon / 2)) == 1.0F);
}

TEST_CASE("precision: choices in any order, and what is left away") {
  using weft::compute_in;
  using weft::precision;
  using weft::precision_name;
  using weft::precision_of;
  using weft::weights_in;
  using weft::wire_in;
  using mixed = precision<wire_in<float16>, compute_in<bfloat16>>;
  static_assert(std::is_same_v<mixed::weight, float> && std::is_same_v<mixed::compute, bfloat16> &&
                std::is_same_v<mixed::gradient, float> && std::is_same_v<mixed::wire, float16>);
  static_assert(std::is_same_v<precision<weights_in<double>>::wire, double>);
  static_assert(std::is_same_v<precision<compute_in<bfloat16>>::wire, bfloat16>);
  static_assert(std::is_same_v<precision_of<double>::gradient, double>);
  static_assert(std::is_same_v<precision_of<mixed>, mixed>);
  CHECK(precision_name<float>() == "f32");
  CHECK(precision_name<double>() == "f64");
  CHECK(precision_name<weft::bf16_mixed>() == "weights f32, compute bf16, wire bf16");
  CHECK(precision_name<precision<wire_in<bfloat16>>>() == "weights f32, compute f32, wire bf16");
}
