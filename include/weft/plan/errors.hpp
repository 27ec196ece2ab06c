// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/verdict.hpp>

#include <cstdint>

/// @file
/// Templates that are defined for the good case alone. Where a plan is bad the compiler names the undefined one, and
/// its arguments are the finding; g++, clang and nvcc all print them.

namespace weft::inline v1 {

/// The arguments: which rule is broken, the value that breaks it, and the nearest legal one.
template <schedule::rule Broken, int Value, int Nearest>
struct schedule_must_be_legal;
template <int Value, int Nearest>
struct schedule_must_be_legal<schedule::rule::none, Value, Nearest> {
  static constexpr bool value = true;
};

/// The arguments: what is wrong (see schedule/verdict.hpp), and on which rank, stage and micro-batch.
template <schedule::defect What, int Rank, int Stage, int MicroBatch>
struct schedule_must_be_playable;
template <int Rank, int Stage, int MicroBatch>
struct schedule_must_be_playable<schedule::defect::none, Rank, Stage, MicroBatch> {
  static constexpr bool value = true;
};

/// The arguments: bytes needed by the heaviest rank, that rank, and bytes allowed.
template <bool Fits, std::int64_t Needed, int Rank, std::int64_t Limit>
struct memory_limit_must_hold;
template <std::int64_t Needed, int Rank, std::int64_t Limit>
struct memory_limit_must_hold<true, Needed, Rank, Limit> {
  static constexpr bool value = true;
};

/// The arguments: what is wrong (see topology/partition.hpp), layers found, and layers wanted.
template <auto Fault, int Found, int Wanted>
struct layers_must_add_up;

}  // namespace weft::inline v1
