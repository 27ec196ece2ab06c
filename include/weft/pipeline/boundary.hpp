// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::inline v1 {

struct bfloat16;
struct float16;

/// Element types that may cross a stage boundary; the wire has its own numbering, so that builds understand each other.
enum class scalar : std::uint8_t { f64 = 1, f32, f16, bf16, i64, i32, i16, i8, u8 };

constexpr std::size_t size_of(scalar type) {
  switch (type) {
    case scalar::f64:
    case scalar::i64: return 8;
    case scalar::f32:
    case scalar::i32: return 4;
    case scalar::f16:
    case scalar::bf16:
    case scalar::i16: return 2;
    case scalar::i8:
    case scalar::u8: return 1;
  }
  return 0;
}

constexpr char const* name_of(scalar type) {
  switch (type) {
    case scalar::f64: return "f64";
    case scalar::f32: return "f32";
    case scalar::f16: return "f16";
    case scalar::bf16: return "bf16";
    case scalar::i64: return "i64";
    case scalar::i32: return "i32";
    case scalar::i16: return "i16";
    case scalar::i8: return "i8";
    case scalar::u8: return "u8";
  }
  return "no known type";
}

template <class Type>
inline constexpr scalar scalar_of = scalar{};
template <>
inline constexpr scalar scalar_of<double> = scalar::f64;
template <>
inline constexpr scalar scalar_of<float> = scalar::f32;
template <>
inline constexpr scalar scalar_of<float16> = scalar::f16;
template <>
inline constexpr scalar scalar_of<bfloat16> = scalar::bf16;
template <>
inline constexpr scalar scalar_of<std::int64_t> = scalar::i64;
template <>
inline constexpr scalar scalar_of<std::int32_t> = scalar::i32;
template <>
inline constexpr scalar scalar_of<std::int16_t> = scalar::i16;
template <>
inline constexpr scalar scalar_of<std::int8_t> = scalar::i8;
template <>
inline constexpr scalar scalar_of<std::uint8_t> = scalar::u8;

/// One tensor of a boundary. `elements` is the most it may hold; a micro-batch may carry fewer.
struct component {
  scalar type = scalar::f32;
  std::int64_t elements = 0;
  bool has_gradient = true;

  friend constexpr bool operator==(component const&, component const&) = default;
};

/// The most edges that may enter a stage, and that may leave it.
inline constexpr int max_edges_per_side = 8;

/// What crosses one edge of the stage graph: up to eight tensors. Forward messages carry all of them, backward
/// messages the gradients of those that have one. Both ends compute everything from this one description.
struct boundary {
  static constexpr int max_components = 8;

  int count = 0;
  component components[max_components] = {};

  /// Throws `weft::error` for a ninth tensor.
  constexpr boundary& add(scalar type, std::int64_t elements, bool has_gradient = true) {
    if (count >= max_components)
      throw error("weft::boundary: an edge carries at most " + std::to_string(max_components) +
                  " tensors; join tensors of one element type, or spread them over several edges");
    components[count] = component{type, elements, has_gradient};
    ++count;
    return *this;
  }
};

}  // namespace weft::inline v1
