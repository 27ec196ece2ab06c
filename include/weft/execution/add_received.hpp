// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace weft::inline v1::execution {

/// The addition of every collective, `collective::add_received`, where a device's memory is. One addition per element,
/// so it has the host's bits.
template <class Number>
struct add_received {
  static constexpr char const* label = "weft::add_received";

  Number* own;
  Number const* received;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const { own[index] = own[index] + received[index]; }
};

}  // namespace weft::inline v1::execution
