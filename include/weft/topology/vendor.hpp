// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>
#include <string_view>

namespace weft::inline v1::topology {

/// Whose device a rank computes on; `host` where it has none.
enum class vendor : std::uint8_t { host, cuda, hip };

constexpr char const* to_text(vendor whose) {
  switch (whose) {
    case vendor::host: return "host";
    case vendor::cuda: return "CUDA";
    case vendor::hip: return "HIP";
  }
  return "?";
}

/// What `to_text` wrote; false where it is no vendor's name.
constexpr bool read_vendor(std::string_view text, vendor& whose) {
  for (vendor const each : {vendor::host, vendor::cuda, vendor::hip})
    if (text == to_text(each)) {
      whose = each;
      return true;
    }
  return false;
}

}  // namespace weft::inline v1::topology

namespace weft::inline v1 {
using topology::vendor;
}
