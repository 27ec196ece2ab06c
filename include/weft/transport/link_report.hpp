// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/link_table.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace weft::inline v1::transport {

namespace detail {

inline std::string size_in_words(std::size_t bytes) {
  if (bytes >= (std::size_t{1} << 20U) && bytes % (std::size_t{1} << 20U) == 0)
    return std::to_string(bytes >> 20U) + " MiB";
  return bytes >= 1024 && bytes % 1024 == 0 ? std::to_string(bytes >> 10U) + " KiB" : std::to_string(bytes) + " B";
}

}  // namespace detail

/// For people: a line for each pair of ranks whose links were measured, with the ways' times and what is taken for a
/// body of so many bytes, as
///
///     links: ranks 0 and 1: 4 KiB direct 3.1, staged 6.0 us; 64 KiB direct 14.2, staged 21.5 us; direct
///
/// The same on every rank. Collective.
inline std::string report_links(endpoint& door, std::vector<way> const& ways, link_table const& table,
                                double deadline = default_deadline) {
  int const count = static_cast<int>(ways.size());
  std::string mine;
  for (int peer = door.rank() + 1; peer < door.size(); ++peer) {  // the lower rank of a pair tells
    std::vector<link_table::point> sizes;
    for (int each = 0; each < count && sizes.empty(); ++each)
      if (table.knows(peer, each)) sizes = table.points(peer, each);
    if (sizes.empty()) continue;
    mine += "links: ranks " + std::to_string(door.global_rank(door.rank())) + " and " +
            std::to_string(door.global_rank(peer)) + ":";
    std::string choices;
    int before = -1;
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      std::size_t const bytes = sizes[index].bytes;
      mine += (index == 0 ? " " : "; ") + detail::size_in_words(bytes);
      bool is_first = true;
      for (int each = 0; each < count; ++each) {
        if (!table.knows(peer, each)) continue;
        char time[48];
        std::snprintf(time, sizeof time, " %.1f", table.seconds(peer, each, bytes) * 1e6);
        mine += (is_first ? " " : ", ") + ways[static_cast<std::size_t>(each)].name + time;
        is_first = false;
      }
      mine += " us";
      int const best = table.best(peer, count, bytes);
      if (best == before) continue;
      choices += (choices.empty() ? "; " : ", from " + detail::size_in_words(bytes) + " on ") +
                 ways[static_cast<std::size_t>(best)].name;
      before = best;
    }
    mine += choices + "\n";
  }
  std::string all;
  for (auto const& each : gather_texts(door, mine, deadline)) all += each;
  return all;
}

}  // namespace weft::inline v1::transport
