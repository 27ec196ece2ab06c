// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/pipeline/boundary.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft::inline v1 {

static_assert(std::endian::native == std::endian::little,
              "weft::pipeline: messages are little-endian, and this machine is not; weft has never run on one");

/// Counts up when the bytes of a message mean something else.
inline constexpr std::uint8_t wire_version = 2;

/// What a boundary message is. Numbers are little-endian, whoever sends them.
struct wire_header {
  std::uint16_t stage = 0;     ///< that the message enters, in its direction
  std::uint8_t direction = 0;  ///< 0 forward, 1 backward
  std::uint8_t version = wire_version;
  std::uint32_t micro_batch = 0;
  std::uint64_t bytes = 0;  ///< of the components, padding between them included
};

/// What precedes the components of a boundary on the wire, in the first 128 bytes. The components follow in their
/// order, each in logical row-major order and from a multiple of 64 bytes on, whatever the layout and the padding of
/// the arrays at both ends (pipeline/logical_order.hpp).
struct wire_prefix {
  wire_header header{};
  std::int64_t counts[boundary::max_components] = {};  ///< elements of each component
  std::uint8_t types[boundary::max_components] = {};   ///< their `scalar`; 0: there is no such component
};
static_assert(sizeof(wire_header) == 16 && sizeof(wire_prefix) == 88 && std::is_trivially_copyable_v<wire_prefix>);

/// The types of a boundary's components as they travel. Of a `checked_boundary`.
constexpr void set_types(wire_prefix& prefix, boundary const& layout) {
  for (int index = 0; index < layout.count; ++index)
    prefix.types[index] = static_cast<std::uint8_t>(layout.components[index].type);
}

}  // namespace weft::inline v1
