// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"
#include "plan_report.hpp"

#include <weft/error.hpp>
#include <weft/schedule/program.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/library_door.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mini_llm {

/// `--door nccl`: the device vendor's library between ranks that have the same one; all others go on by `inner`. The
/// library's order of messages is the program's, which is proved here. `Vendor`: see vendor_library.hpp.
///
/// Collective over `inner`'s ranks, whatever each of them has; rank 0 prints who hands over to what. Throws the same
/// `weft::agreed_error` on every rank where none has a library.
template <class Vendor>
std::unique_ptr<weft::transport::endpoint> make_vendor_door(options const& chosen, weft::transport::endpoint& inner,
                                                            double deadline) {
  using namespace weft::transport;
  auto const names = gather_texts(inner, Vendor::name, deadline);
  std::map<std::string, std::vector<int>> ranks;
  for (int rank = 0; rank < inner.size(); ++rank) ranks[names[static_cast<std::size_t>(rank)]].push_back(rank);
  std::vector<int> alike;
  if (std::string const own = Vendor::name; !own.empty()) alike = ranks[own];
  ranks.erase("");
  if (ranks.empty())
    throw weft::agreed_error(
        "--door nccl hands boundaries to the library of the devices' vendor, and no rank's build has one; build with a "
        "Kokkos for CUDA and NCCL, or one for HIP and RCCL (docs/transports.md), or choose --door staged");
  weft::schedule::program program;
  std::optional<typename Vendor::library> library;  // a device may have no memory left for its stream
  all_or_none(
      inner,
      [&] {
        program = make_program(chosen, inner.size());
        library.emplace(Vendor::make());
      },
      deadline);
  auto made = std::make_unique<library_door<typename Vendor::library>>(
      inner, program.view(), std::move(*library), library_options{.members = alike, .deadline = deadline});
  std::string text = "boundaries:";
  for (auto const& [name, those] : ranks) {
    text += " " + name + " among ranks";
    for (int const each : those) text += " " + std::to_string(each);
    text += ",";
  }
  if (inner.rank() == 0) std::cout << text << " staged otherwise\n" << std::flush;
  return made;
}

}  // namespace mini_llm
