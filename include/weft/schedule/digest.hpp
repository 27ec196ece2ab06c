// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/fnv1a.hpp>
#include <weft/schedule/program_view.hpp>

#include <cstdint>

namespace weft::inline v1::schedule {

/// A number that two programs share only if they are the same, for the ranks' fingerprint.
constexpr std::uint64_t digest(program_view const& program) {
  weft::detail::fnv1a hash;
  auto const mix = [&hash](std::uint64_t value) { hash.add(value); };
  mix(static_cast<std::uint64_t>(program.ranks()));
  mix(static_cast<std::uint64_t>(program.micro_batches));
  for (int stage = 0; stage < program.stages() * program.graph.copies; ++stage)
    mix(static_cast<std::uint64_t>(program.graph.rank_of_stage[stage]));
  for (int index = 0; index < program.graph.edge_count; ++index) {
    mix(static_cast<std::uint64_t>(program.graph.edges[index].source));
    mix(static_cast<std::uint64_t>(program.graph.edges[index].destination));
  }
  for (int rank = 0; rank < program.ranks(); ++rank)
    for (action const& each : program.row(rank)) {
      mix(static_cast<std::uint64_t>(each.what) | (std::uint64_t{each.stage} << 8U) |
          (std::uint64_t{each.micro_batch} << 24U));
      mix(std::uint64_t{each.slice} | (std::uint64_t{each.copy} << 16U) | (std::uint64_t{each.version} << 24U) |
          (std::uint64_t{each.part} << 32U) | (std::uint64_t{each.group} << 40U) | (std::uint64_t{each.slot} << 48U));
    }
  return hash.value();
}

}  // namespace weft::inline v1::schedule
