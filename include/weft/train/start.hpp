// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/build_facts.hpp>
#include <weft/execution/device.hpp>
#include <weft/execution/random.hpp>
#include <weft/topology/axis.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/topology/ranks_along.hpp>
#include <weft/topology/stage_graph.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/endpoint.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The start of a training: ranks agree on what they must have in common, and show each other their cards.

namespace weft::inline v1::train {

/// What this rank's own build has, which ranks of several builds have not in common.
struct own_build {
  std::vector<std::pair<std::string, std::string>> facts{};  ///< beside those of execution::build_facts: (name, value)
  std::string messages{};  ///< for its card: what moves them, and what that does with device memory
};

/// Ranks that hold the same layers, for each stage: over the data axis, and over copies of the model.
inline std::vector<std::vector<int>> holders_of_stages(topology::mesh_shape const& mesh,
                                                       topology::stage_graph_view const& graph) {
  std::vector<std::vector<int>> all(static_cast<std::size_t>(graph.stages));
  for (int stage = 0; stage < graph.stages; ++stage)
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
      bool is_holder = false;
      for (int copy = 0; copy < graph.copies; ++copy)
        is_holder = is_holder || graph.rank_of(stage, copy) == topology::coordinate_of<topology::pipeline>(mesh, rank);
      if (is_holder) all[static_cast<std::size_t>(stage)].push_back(rank);
    }
  return all;
}

/// For people, one text per rank of the mesh: "layers 0-2", "layers 0-2, 5-6", "no layers".
inline std::vector<std::string> held_by_ranks(topology::mesh_shape const& mesh, topology::stage_graph_view const& graph,
                                              std::vector<topology::layer_range> const& layers) {
  std::vector<std::string> all;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    std::string held;
    for (int each = 0; each < graph.stages * graph.copies; ++each) {
      auto const& range = layers[static_cast<std::size_t>(each % graph.stages)];
      if (graph.rank_of_stage[each] != topology::coordinate_of<topology::pipeline>(mesh, rank) || range.size() == 0)
        continue;
      held += (held.empty() ? "layers " : ", ") + std::to_string(range.first) +
              (range.size() > 1 ? "-" + std::to_string(range.last - 1) : "");
    }
    all.push_back(held.empty() ? "no layers" : held);
  }
  return all;
}

/// What this rank is. `common` is what all ranks must agree on.
template <class Space>
transport::card card_of_this_rank(transport::facts const& common, own_build const& own) {
  auto const device = execution::facts_of_device<Space>();
  transport::card mine;
  mine.whose = device.whose;
  mine.space = Space::name();
  mine.device = device.name;
  mine.identity = device.identity;
  char node[256] = {};
  mine.node = gethostname(node, sizeof node - 1) == 0 ? node : "unknown";
  mine.process = std::to_string(getpid());
  mine.bytes = device.bytes;
  mine.free_bytes = device.free_bytes;
  mine.messages = own.messages;
  for (auto const& [name, value] : common.all())
    if (name.rfind("precision", 0) == 0) mine.precision = value;
  char digest[24];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(random::hash(common.text())));
  mine.fingerprint = digest;
  char const* const shares = std::getenv("WEFT_SHARE_DEVICES");
  mine.shares_device = shares != nullptr && *shares != '\0' && std::strcmp(shares, "0") != 0;
  for (auto const& [name, value] : own.facts) mine.build.add(name, value);
  for (auto const& [name, value] : execution::build_facts<Space>())
    if (name != "weft") mine.build.add(name, value);
  if (mine.whose != topology::vendor::host) mine.build.add("device", device.name);  // what a core type is on a host
  return mine;
}

/// Refuses, on every rank with the same words, ranks that do not go together, and returns all cards, by rank. `common`:
/// plan, model, precision, data, whatever decides numbers. Builds must be one where the rules do not allow several.
/// `compares_replicas`: the job insists on equal bits of ranks that hold the same layers. Collective.
template <class Space>
std::vector<transport::card> meet(transport::endpoint& door, transport::facts common, own_build const& own,
                                  std::vector<std::vector<int>> const& holders, transport::mixed_rules const& rules,
                                  bool compares_replicas, double deadline) {
  for (auto const& [name, value] : execution::build_facts<Space>())
    if (name == "weft") common.add(name, value);
  std::string promised;
  for (auto const each : rules.vendors) promised += std::string(" ") + topology::to_text(each);
  common.add("vendors of the ranks", promised.empty() ? "as they are" : promised.substr(1));
  common.add("vendors that meet on the data axis", rules.over_data ? "allowed" : "not allowed");
  common.add("shared devices", rules.shared_devices ? "allowed" : "not allowed");
  transport::card const mine = card_of_this_rank<Space>(common, own);
  transport::require_agreement(door, common, mine.build, rules.several_builds, rules.allowed_by, deadline);
  auto cards = transport::exchange_cards(door, mine, deadline);
  transport::require_cards(cards, holders, rules);
  if (rules.over_data && compares_replicas)
    for (auto const& list : holders)
      for (int const rank : list)
        if (cards[static_cast<std::size_t>(rank)].whose != cards[static_cast<std::size_t>(list[0])].whose)
          throw agreed_error(
              "weft::trainer: ranks " + std::to_string(list[0]) + " and " + std::to_string(rank) +
                  " hold the same layers on devices of two vendors, which round differently, and their bits are to be "
                  "compared; set compare_replicas_every to 0",
              {.rank = rank});
  return cards;
}

}  // namespace weft::inline v1::train
