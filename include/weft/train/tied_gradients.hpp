// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// The sum over all use sites, in site order, written to those of them that live on this rank.
template <class Real>
struct add_sites_kernel {
  static constexpr char const* label = "weft::add_sites";
  static constexpr int most_sites = 8;

  Real* site[most_sites];
  bool is_local[most_sites];
  int count;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    Real total = site[0][index];
    for (int each = 1; each < count; ++each) total += site[each][index];
    for (int each = 0; each < count; ++each)
      if (is_local[each]) site[each][index] = total;
  }
};

/// The gradient of a parameter that several layers use: every rank that holds a use site learns the accumulators of
/// all sites and adds them in site order, so that all of them get the same bits, and the same as one rank alone.
template <class View, class Space>
class tied_gradient {
 public:
  /// One use of the parameter. `gradient` is a flat view on the rank that holds it, empty elsewhere.
  struct site {
    int rank = 0;
    View gradient;
  };

  tied_gradient(int group, std::vector<site> sites, int rank) : sites_(std::move(sites)), rank_(rank) {
    if (sites_.size() > static_cast<std::size_t>(kernel::most_sites))
      throw error("weft::train: a tied parameter has " + std::to_string(sites_.size()) + " use sites; at most " +
                  std::to_string(kernel::most_sites) + " are possible");
    for (std::size_t index = 0; index < sites_.size(); ++index)
      tags_.push_back(schedule::tie_tag(group, static_cast<int>(index)));
    for (site const& each : sites_)
      if (each.rank == rank_) elements_ = each.gradient.extent(0);
    if (elements_ == 0) return;
    for (site const& each : sites_) {
      bool const is_local = each.rank == rank_;
      remote_.emplace_back("weft::tied_gradient", is_local ? 0 : elements_);
      host_.push_back(execution::make_mirror("weft::tied_mirror", is_local ? each.gradient : View(remote_.back())));
      if (!is_local && std::find(peers_.begin(), peers_.end(), each.rank) == peers_.end()) peers_.push_back(each.rank);
    }
  }

  /// Held here for other ranks' accumulators and, on a device, for mirrors.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& each : remote_) sum += each.extent(0) * sizeof(real);
    if constexpr (!is_host) sum += host_.size() * elements_ * sizeof(real);
    return sum;
  }

  /// Communicates with the ranks of the other sites; a rank without a site returns at once. `on_turn()` is called while
  /// it waits. After an exception the transport may go on reading the gradients: they must be kept for ever.
  template <class OnTurn>
  void reduce(transport::endpoint& door, Space const& space, double deadline, OnTurn&& on_turn) {
    if (elements_ == 0) return;
    std::size_t const bytes = elements_ * sizeof(real);
    if (!peers_.empty()) {
      transport::posted_messages posted(door, "the gradient of a tied parameter", deadline);
      for (std::size_t index = 0; index < sites_.size(); ++index) {
        if (sites_[index].rank != rank_) {
          posted.receive(host_[index].data(), bytes, sites_[index].rank, tags_[index]);
          continue;
        }
        {
          auto const lock = door.launch_lock();
          if constexpr (!is_host) Kokkos::deep_copy(space, host_[index], sites_[index].gradient);
          execution::fence(space, "weft::tied");
        }
        for (int const peer : peers_) posted.send(host_[index].data(), bytes, peer, tags_[index]);
      }
      try {
        posted.settle(on_turn);
      } catch (...) {
        // The transport may go on reading a mirror; where there is none, what it reads is the caller's.
        if (!posted.give_up()) static_cast<void>(new (std::nothrow) std::vector<host_view>(host_));
        throw;
      }
    }
    auto const lock = door.launch_lock();
    kernel add{};
    add.count = static_cast<int>(sites_.size());
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      add.is_local[index] = sites_[index].rank == rank_;
      View const local = add.is_local[index] ? sites_[index].gradient : View(remote_[index]);
      if constexpr (!is_host)
        if (!add.is_local[index]) Kokkos::deep_copy(space, local, host_[index]);
      add.site[index] = local.data();
    }
    execution::for_each(space, static_cast<std::int64_t>(elements_), add);
    execution::fence(space, "weft::tied");
  }

 private:
  using real = typename View::non_const_value_type;
  using kernel = add_sites_kernel<real>;
  using storage = Kokkos::View<real*, Kokkos::LayoutRight, typename Space::memory_space>;
  using host_view = execution::mirror_of<View>;  ///< what the endpoint reads and writes
  static constexpr bool is_host = execution::is_host_space<Space>;

  std::vector<site> sites_;
  int rank_;
  std::vector<int> tags_;
  std::size_t elements_ = 0;
  std::vector<storage> remote_;
  std::vector<host_view> host_;
  std::vector<int> peers_;
};

}  // namespace weft::inline v1::train
