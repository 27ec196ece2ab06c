// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/topology/vendor.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/extern_transport.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// What ranks tell each other about what they are, before they work together: in one job there may be devices of two
/// vendors, and programs that different compilers made of one source.

namespace weft::inline v1::transport {

/// What one rank is.
struct card {
  topology::vendor whose = topology::vendor::host;  ///< device it computes on
  std::string space{};                              ///< Kokkos's name of its execution space
  std::string device{};                             ///< the device's name, or the processor's
  std::string identity{};                           ///< of a device: the same for all ranks on it; empty: the host
  std::string node{};                               ///< host name
  std::string process{};                            ///< its number on the node: threads of one process share all it has
  std::int64_t bytes = 0;                           ///< of the memory it computes in
  std::int64_t free_bytes = 0;                      ///< of that, when the card was written
  std::string messages{};                           ///< what moves them, and what that does with device memory
  std::string precision{};
  std::string fingerprint{};   ///< of everything that all ranks must have in common
  bool shares_device = false;  ///< it was asked to share its device with other ranks
  facts build{};               ///< what ranks of one build have in common, and ranks of several may not

  friend bool operator==(card const& left, card const& right) { return left.text() == right.text(); }

  /// As it travels.
  [[nodiscard]] std::string text() const {
    facts all;
    all.add("card", "1");
    all.add("vendor", topology::to_text(whose));
    all.add("space", space);
    all.add("device", device);
    all.add("identity", identity);
    all.add("node", node);
    all.add("process", process);
    all.add("bytes", std::to_string(bytes));
    all.add("free bytes", std::to_string(free_bytes));
    all.add("messages", messages);
    all.add("precision", precision);
    all.add("fingerprint", fingerprint);
    all.add("shares its device", shares_device ? "yes" : "no");
    for (auto const& [name, value] : build.all()) all.add("build: " + name, value);
    return all.text();
  }
};

/// Reads what `text` wrote on `rank`. Throws `agreed_error` where that is no card, or one of another version.
WEFT_TRANSPORT_INLINE card read_card(std::string_view text, int rank);

/// Every rank's card, on every rank. Collective.
WEFT_TRANSPORT_INLINE std::vector<card> exchange_cards(endpoint& door, card const& mine,
                                                       double deadline = default_deadline);

/// What a job allows beside ranks that are alike.
struct mixed_rules {
  bool several_builds = false;  ///< compilers, Kokkos versions, execution spaces, threads, BLAS, executables may differ
  bool over_data = false;       ///< ranks that hold the same layers may be of different vendors
  bool shared_devices = false;  ///< several ranks may compute on one device
  std::vector<topology::vendor> vendors{};            ///< what each rank must be; empty: what it is
  std::string allowed_by = "trainer_options::mixed";  ///< what messages name as the way to allow several builds
};

namespace detail {

/// "ranks 0 to 2 and 5".
WEFT_TRANSPORT_INLINE std::string ranks_text(std::vector<int> const& ranks);

WEFT_TRANSPORT_INLINE std::string memory_text(std::int64_t bytes);

/// Whose the execution space of this name is.
WEFT_TRANSPORT_INLINE topology::vendor vendor_of_space(std::string_view space);

}  // namespace detail

/// Throws the same `agreed_error` wherever it is called with the same cards, one per rank, unless: no card contradicts
/// itself, every rank is what the rules promise, no two ranks are on one device by accident, all of one `holders` list
/// (ranks that hold the same layers, and so sum their gradients) are of one vendor or may differ, and all have one
/// fingerprint. Does not communicate.
WEFT_TRANSPORT_INLINE void require_cards(std::vector<card> const& cards, std::vector<std::vector<int>> const& holders,
                                         mixed_rules const& rules);

/// A sentence for everything in which builds differ: "Kokkos is 30401 on ranks 0 and 1, 50200 on rank 2".
WEFT_TRANSPORT_INLINE std::vector<std::string> differences(std::vector<card> const& cards);

/// For people: a line per rank, with what it holds (`held`, one text per rank) and what it is. Ends with a line break.
WEFT_TRANSPORT_INLINE std::string card_table(std::vector<card> const& cards, std::vector<std::string> const& held);

#if defined(WEFT_DEFINES_TRANSPORT)

WEFT_TRANSPORT_INLINE card read_card(std::string_view text, int rank) {
  auto const refuse = [rank](std::string const& what) {
    throw agreed_error("weft::transport: the card of rank " + std::to_string(rank) + " " + what +
                           "; build every rank's executable of one version of weft",
                       {.rank = rank});
  };
  auto const all = facts::parse(text).all();
  if (all.empty() || all[0].first != "card") refuse("cannot be read");
  if (all[0].second != "1") refuse("is of version " + all[0].second + ", and this one reads version 1");
  auto const number = [&](std::string const& value) {
    std::int64_t read = -1;
    auto const [end, problem] = std::from_chars(value.data(), value.data() + value.size(), read);
    if (problem != std::errc() || end != value.data() + value.size() || read < 0) refuse("names " + value + " bytes");
    return read;
  };
  card found;
  for (auto const& [name, value] : all)
    if (name == "vendor") {
      if (!topology::read_vendor(value, found.whose)) refuse("names the vendor " + value);
    } else if (name == "space") {
      found.space = value;
    } else if (name == "device") {
      found.device = value;
    } else if (name == "identity") {
      found.identity = value;
    } else if (name == "node") {
      found.node = value;
    } else if (name == "process") {
      found.process = value;
    } else if (name == "bytes") {
      found.bytes = number(value);
    } else if (name == "free bytes") {
      found.free_bytes = number(value);
    } else if (name == "messages") {
      found.messages = value;
    } else if (name == "precision") {
      found.precision = value;
    } else if (name == "fingerprint") {
      found.fingerprint = value;
    } else if (name == "shares its device") {
      found.shares_device = value == "yes";
    } else if (name.rfind("build: ", 0) == 0) {
      found.build.add(name.substr(7), value);
    }
  return found;
}

WEFT_TRANSPORT_INLINE std::vector<card> exchange_cards(endpoint& door, card const& mine, double deadline) {
  auto const texts = gather_texts(door, mine.text(), deadline);
  std::vector<card> all;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) all.push_back(read_card(texts[rank], static_cast<int>(rank)));
  return all;
}

namespace detail {
WEFT_TRANSPORT_INLINE std::string ranks_text(std::vector<int> const& ranks) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == first + 1) last = first;
    parts.push_back(std::to_string(ranks[first]) + (last > first ? " to " + std::to_string(ranks[last]) : ""));
    first = last + 1;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t index = 0; index < parts.size(); ++index)
    text += (index == 0 ? "" : index + 1 == parts.size() ? " and " : ", ") + parts[index];
  return text;
}

WEFT_TRANSPORT_INLINE std::string memory_text(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

WEFT_TRANSPORT_INLINE topology::vendor vendor_of_space(std::string_view space) {
  if (space.find("Cuda") != std::string_view::npos) return topology::vendor::cuda;
  if (space.find("HIP") != std::string_view::npos) return topology::vendor::hip;
  return topology::vendor::host;
}
}  // namespace detail

WEFT_TRANSPORT_INLINE void require_cards(std::vector<card> const& cards, std::vector<std::vector<int>> const& holders,
                                         mixed_rules const& rules) {
  auto const at = [&](int rank) -> card const& { return cards[static_cast<std::size_t>(rank)]; };
  auto const refuse = [](int rank, std::string const& what) {
    throw agreed_error("weft::transport: " + what, {.rank = rank});
  };
  auto const name = [&](int rank) { return "rank " + std::to_string(rank); };
  int const ranks = static_cast<int>(cards.size());
  if (!rules.vendors.empty() && rules.vendors.size() != cards.size())
    refuse(0, "the plan names the vendors of " + std::to_string(rules.vendors.size()) + " ranks, and there are " +
                  std::to_string(ranks) + "; give rank_vendors one for each rank of the job");
  for (int rank = 0; rank < ranks; ++rank) {
    card const& each = at(rank);
    auto const found = detail::vendor_of_space(each.space);
    if (found != each.whose || (each.whose != topology::vendor::host && each.identity.empty()))
      refuse(rank, name(rank) + " says that its device is " + topology::to_text(each.whose) + "'s, and " +
                       (found != each.whose ? "computes on " + each.space : std::string("names no such device")) +
                       "; start each rank with the executable that was built for its device, and let weft write its "
                       "card");
    if (!rules.vendors.empty() && rules.vendors[static_cast<std::size_t>(rank)] != each.whose)
      refuse(rank, "the plan's rank_vendors say " +
                       std::string(topology::to_text(rules.vendors[static_cast<std::size_t>(rank)])) + " for " +
                       name(rank) + ", and it is " + topology::to_text(each.whose) + " (" + each.device +
                       "); start the executables in the order of the plan");
    if (each.fingerprint != at(0).fingerprint)
      refuse(rank, name(rank) + " has the fingerprint " + each.fingerprint + " of plan and model, and rank 0 has " +
                       at(0).fingerprint + "; build both of one source, and start them with the same options");
  }
  for (int rank = 0; rank < ranks && !rules.shared_devices; ++rank)
    for (int other = 0; other < rank; ++other) {
      bool const is_one =
          !at(rank).identity.empty() && at(rank).identity == at(other).identity && at(rank).node == at(other).node;
      bool const is_one_process = !at(rank).process.empty() && at(rank).process == at(other).process;
      if (!is_one || is_one_process || (at(rank).shares_device && at(other).shares_device)) continue;
      refuse(rank, "ranks " + std::to_string(other) + " and " + std::to_string(rank) + " are on one device, " +
                       at(rank).device + " (" + at(rank).identity + ") of " + at(rank).node +
                       "; start fewer ranks on this node, let the launcher show each its own device, or set "
                       "WEFT_SHARE_DEVICES=1 where that is meant");
    }
  if (rules.over_data) return;
  for (auto const& list : holders)
    for (int const rank : list)
      if (at(rank).whose != at(list[0]).whose)
        refuse(rank, "ranks " + std::to_string(list[0]) + " and " + std::to_string(rank) +
                         " hold the same layers, and are " + topology::to_text(at(list[0]).whose) + " and " +
                         topology::to_text(at(rank).whose) +
                         "; vendors meet along the pipeline alone: give all pipelines the same vendors in the same "
                         "places, or allow it (allow_mixed<data_axis>)");
}

WEFT_TRANSPORT_INLINE std::vector<std::string> differences(std::vector<card> const& cards) {
  struct said {
    std::string name;
    std::vector<std::pair<std::string, std::vector<int>>> values;
  };
  std::vector<said> all;
  auto const note = [&all](int rank, std::string const& name, std::string const& value) {
    auto fact = std::find_if(all.begin(), all.end(), [&](said const& each) { return each.name == name; });
    if (fact == all.end()) fact = all.insert(fact, {name, {}});
    auto found =
        std::find_if(fact->values.begin(), fact->values.end(), [&](auto const& each) { return each.first == value; });
    if (found == fact->values.end()) found = fact->values.insert(found, {value, {}});
    found->second.push_back(rank);
  };
  for (int rank = 0; rank < static_cast<int>(cards.size()); ++rank) {
    card const& each = cards[static_cast<std::size_t>(rank)];
    for (auto const& [name, value] : each.build.all()) note(rank, name, value);
    if (!each.messages.empty()) note(rank, "what moves messages", each.messages);
  }
  std::vector<std::string> sentences;
  for (auto const& [name, values] : all) {
    if (values.size() == 1 && values[0].second.size() == cards.size()) continue;
    std::string text = name + " is ";
    for (std::size_t index = 0; index < values.size(); ++index)
      text += (index == 0 ? "" : ", ") + values[index].first + " on " + detail::ranks_text(values[index].second);
    sentences.push_back(text);
  }
  return sentences;
}

WEFT_TRANSPORT_INLINE std::string card_table(std::vector<card> const& cards, std::vector<std::string> const& held) {
  std::vector<std::vector<std::string>> rows{{"rank", "holds", "vendor", "space", "device", "free memory", "node"}};
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    card const& each = cards[rank];
    rows.push_back({std::to_string(rank), rank < held.size() ? held[rank] : std::string(), to_text(each.whose),
                    each.space, each.device,
                    detail::memory_text(each.free_bytes) + " of " + detail::memory_text(each.bytes), each.node});
  }
  std::string text;
  for (auto const& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (auto const& other : rows) width = (std::max)(width, other[column].size());
      text += row[column];
      text += column + 1 < row.size() ? std::string(width - row[column].size() + 2, ' ') : std::string("\n");
    }
  return text;
}

#endif

}  // namespace weft::inline v1::transport
