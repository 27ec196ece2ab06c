// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/fnv1a.hpp>
#include <weft/error.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/chosen_ranks.hpp>
#include <weft/transport/device_library.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/wait.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weft::inline v1::transport::detail {

/// Throws in the words of all that goes by a vendor's library. `door`: whose rank this is; `peer`: of its ranks.
template <class Library>
[[noreturn]] void fail_library(endpoint const& door, std::string const& what, int peer = -1, int tag = -1) {
  int const own = door.global_rank(door.rank());
  int const other = peer < 0 ? -1 : door.global_rank(peer);
  throw error("weft::transport::" + std::string(Library::name) + ": rank " + std::to_string(own) +
                  (other < 0 ? "" : " and rank " + std::to_string(other)) + ": " + what,
              {.rank = own, .peer = other, .tag = tag});
}

/// Asks the library for what has failed behind one's back. Where another rank has said why it failed, that is told, and
/// not what the library makes of it.
template <device_library Library>
void check_library(endpoint& door, Library& library) {
  try {
    library.check();
  } catch (error const&) {
    door.check_failure();
    throw;
  }
}

/// Waits until the library has connected this rank, of `size` ranks with that identity. Collective over those.
template <device_library Library>
void start_library(endpoint& door, Library& library, typename Library::identity const& id, int rank, int size,
                   double deadline) {
  library.connect(id, rank, size);
  wait_until(
      door, deadline, [&] { return library.is_ready(); },
      [&](double waited) {
        fail_library<Library>(door, "the library's start took more than " + std::to_string(static_cast<long>(waited)) +
                                        " s; a rank is slow, stopped, or names other members");
      },
      [] {});
}

/// The ranks of a door among which bodies go by a vendor's library.
template <device_library Library>
class library_members {
 public:
  /// Does not communicate.
  library_members(endpoint& door, chosen_ranks const& chosen) : door_(door), ranks_(chosen.among(door.size())) {}

  /// Throws where a rank is named that the door has not.
  void require_existing() const {
    if (!ranks_.empty() && (ranks_.front() < 0 || ranks_.back() >= door_.size()))
      fail_library<Library>(door_,
                            "one of its ranks does not exist; name ranks 0 to " + std::to_string(door_.size() - 1));
  }

  /// Whether this rank is one, and not the only one.
  [[nodiscard]] bool are_connected() const { return ranks_.size() > 1 && has(door_.rank()); }
  [[nodiscard]] bool contains(int rank) const { return are_connected() && has(rank); }
  /// As the library counts.
  [[nodiscard]] int library_rank(int rank) const {
    return static_cast<int>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
  }

  /// Each member says whom it takes for members, by a hash of the list, and the lowest one the identity that it has
  /// made. Collective over the door's ranks, also those that are no members.
  void connect(Library& library, double deadline) const {
    typename Library::identity id{};
    std::string own;
    all_or_none(
        door_,
        [&] {
          if (!are_connected()) return;
          own = hash();
          if (door_.rank() != ranks_.front()) return;
          id = Library::make_identity();
          own.append(reinterpret_cast<char const*>(&id), sizeof(id));
        },
        deadline);
    auto const everybodys = gather_texts(door_, own, deadline);  // identities of other vendors have other sizes
    if (!are_connected()) return;
    std::string const wanted = hash();
    for (int const each : ranks_)
      if (everybodys[static_cast<std::size_t>(each)].compare(0, wanted.size(), wanted) != 0)
        fail_library<Library>(door_,
                              "the one names ranks " + text() +
                                  " as members, and the other one does not; name the same ranks on all of them",
                              each);
    auto const& first = everybodys[static_cast<std::size_t>(ranks_.front())];
    if (first.size() != wanted.size() + sizeof(id))
      fail_library<Library>(door_, "they have different libraries; name ranks of one vendor as members",
                            ranks_.front());
    std::memcpy(&id, first.data() + wanted.size(), sizeof(id));
    start_library(door_, library, id, library_rank(door_.rank()), static_cast<int>(ranks_.size()), deadline);
  }

 private:
  [[nodiscard]] bool has(int rank) const { return std::binary_search(ranks_.begin(), ranks_.end(), rank); }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (int const each : ranks_) all += (all.empty() ? "" : ", ") + std::to_string(door_.global_rank(each));
    return all;
  }
  [[nodiscard]] std::string hash() const {  // of any number of them 8 bytes
    weft::detail::fnv1a list;
    for (int const each : ranks_) list.add(static_cast<std::uint64_t>(each));
    std::uint64_t const value = list.value();
    return {reinterpret_cast<char const*>(&value), sizeof(value)};
  }

  endpoint& door_;
  std::vector<int> ranks_;  // ascending
};

}  // namespace weft::inline v1::transport::detail
