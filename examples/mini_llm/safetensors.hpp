// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"

#include <weft/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// What a safetensors file is made of: 8 bytes with the header's length (little endian), the header (JSON: name ->
/// element type, shape, place), then the tensors' bytes without gaps. Read by `safetensors_reader`, written by
/// `safetensors_writer`.

namespace mini_llm {

/// Element types of the format. All are known, so that any whole file opens; only floating-point ones are read.
struct dtype {
  char const* name;
  std::uint64_t bytes;
};

inline constexpr dtype dtypes[] = {{"F32", 4}, {"F64", 8}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                                   {"U64", 8}, {"I32", 4}, {"U32", 4},  {"I16", 2},     {"U16", 2},
                                   {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E5M2", 1}, {"F8_E4M3", 1}};

template <class Real>
inline constexpr char const* dtype_name = nullptr;
template <>
inline constexpr char const* dtype_name<float> = "F32";
template <>
inline constexpr char const* dtype_name<double> = "F64";

struct tensor_info {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< bytes from the end of the header
  std::uint64_t end = 0;

  [[nodiscard]] std::int64_t elements() const;
};

std::string shape_text(std::span<std::int64_t const> shape);

/// Our own addition, in `__metadata__`, which other readers pass over: XXH3 (64 bits) of the header and all tensors,
/// with the 16 digits themselves taken as zeros. A file without it is read, too.
inline constexpr char const* checksum_key = "weft.xxh3";
inline constexpr char const* checksum_zeros = "0000000000000000";

/// Headers beyond this are refused before they are read (the format's own limit).
inline constexpr std::uint64_t longest_header = 100'000'000;

/// A model of this program has some hundreds.
inline constexpr int most_tensors = 10'000;

}  // namespace mini_llm
