// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::inline v1::transport {

/// Whether the messages of a collective among all ranks of `door` go in parts, from and into each rank's own memory:
/// where some rank computes on a device, and every pair hands bodies over as they are. Otherwise all of them go by host
/// memory in one piece: one rank of another kind is enough, since both ends of a message must do the same. `memory`:
/// what Kokkos calls that of this rank. The same answer on all ranks; collective over them.
///
/// Not by a vendor's library: it has one queue per rank and no tags, and the messages of collectives that run beside
/// each other are posted as they become possible, in an order of each rank's own.
inline bool bodies_in_place(endpoint& door, std::string_view memory, bool is_device,
                            double deadline = default_deadline) {
  constexpr std::uint8_t device = 1;
  constexpr std::uint8_t plain = 2;
  std::uint8_t mine = is_device ? device : 0;
  for (int peer = 0; peer < door.size(); ++peer) {
    if (peer == door.rank()) continue;
    if (!door.moves_parts(peer, memory) || door.carries(peer, memory) == carrier::library) mine |= plain;
  }
  std::vector<std::uint8_t> all(static_cast<std::size_t>(door.size()));
  all_gather(door, &mine, sizeof(mine), all.data(), deadline);
  bool const has_device = std::any_of(all.begin(), all.end(), [](std::uint8_t each) { return (each & device) != 0; });
  return has_device && std::none_of(all.begin(), all.end(), [](std::uint8_t each) { return (each & plain) != 0; });
}

}  // namespace weft::inline v1::transport
