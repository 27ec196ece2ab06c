// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/wait.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// total = first, then total += next: one call per use site, in site order.
template <class View>
struct add_site_kernel {
  View total, site;
  bool is_first;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    total(index) = is_first ? site(index) : total(index) + site(index);
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

  tied_gradient(int group, std::vector<site> sites, int rank) : group_(group), sites_(std::move(sites)), rank_(rank) {
    for (site const& each : sites_)
      if (each.rank == rank_) elements_ = each.gradient.extent(0);
    if (elements_ == 0) return;
    total_ = storage("weft::tied_total", elements_);
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      remote_.emplace_back("weft::tied_site", sites_[index].rank == rank_ ? 0 : elements_);
      remote_host_.push_back(Kokkos::create_mirror_view(remote_.back()));
      // a copy on the host, where the endpoint can read it; no copy where the gradient lives there already
      local_host_.push_back(sites_[index].rank == rank_ ? Kokkos::create_mirror_view(sites_[index].gradient)
                                                        : host_view());
      if (sites_[index].rank != rank_ && std::find(peers_.begin(), peers_.end(), sites_[index].rank) == peers_.end())
        peers_.push_back(sites_[index].rank);
    }
    pending_.resize(sites_.size() * (peers_.size() + 1));
  }

  /// Communicates with the ranks of the other sites; those without a site return at once.
  void reduce(transport::endpoint& door, Space const& space, double deadline) {
    if (elements_ == 0) return;
    std::size_t posted = 0;
    std::size_t const bytes = elements_ * sizeof(typename View::non_const_value_type);
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      int const tag = tag_of(index);
      if (sites_[index].rank != rank_) {
        pending_[posted++] = door.receive(remote_host_[index].data(), bytes, sites_[index].rank, tag);
        continue;
      }
      Kokkos::deep_copy(local_host_[index], sites_[index].gradient);
      for (int const peer : peers_) pending_[posted++] = door.send(local_host_[index].data(), bytes, peer, tag);
    }
    for (std::size_t index = 0; index < posted; ++index)
      transport::wait(door, pending_[index], deadline, [&] {
        throw error("weft::train: rank " + std::to_string(rank_) + " waited " + std::to_string(deadline) +
                        " s for the gradient of a tied parameter; the other rank that uses it is slow or stopped",
                    {.rank = rank_});
      });
    auto const lock = door.launch_lock();
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      bool const is_remote = sites_[index].rank != rank_;
      if (is_remote) Kokkos::deep_copy(remote_[index], remote_host_[index]);
      Kokkos::parallel_for(
          "weft::add_site", range(space),
          add_site_kernel<View>{total_, is_remote ? View(remote_[index]) : sites_[index].gradient, index == 0});
    }
    for (site const& each : sites_)
      if (each.rank == rank_) Kokkos::deep_copy(space, each.gradient, total_);
    space.fence();
  }

  void abandon(transport::endpoint& door) noexcept {
    for (auto& each : pending_) door.abandon(each);
  }

 private:
  using storage = Kokkos::View<typename View::non_const_value_type*, Kokkos::LayoutRight, typename Space::memory_space>;
  using host_view = decltype(Kokkos::create_mirror_view(std::declval<View const&>()));
  using host_storage = decltype(Kokkos::create_mirror_view(std::declval<storage const&>()));

  static constexpr int first_tag = 30000;  // above every edge's tag
  static constexpr int sites_per_group = 16;

  [[nodiscard]] int tag_of(std::size_t use_site) const {
    return first_tag + group_ * sites_per_group + static_cast<int>(use_site);
  }
  [[nodiscard]] auto range(Space const& space) const {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, static_cast<std::int64_t>(elements_));
  }

  int group_;
  std::vector<site> sites_;
  int rank_;
  std::size_t elements_ = 0;
  storage total_;
  std::vector<storage> remote_;
  std::vector<host_storage> remote_host_;
  std::vector<host_view> local_host_;
  std::vector<int> peers_;
  std::vector<transport::request> pending_;
};

}  // namespace weft::inline v1::train
