// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/train/tied_gradients.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// The gradient of a parameter that several stages use, where stages step one after the other: each site gives its
/// accumulator when it steps, and takes the sum over all sites `delay` steps later, when every site has given. All
/// sites then make the same update, so that they hold equal weights after equally many STEPs, and nobody waits for a
/// rank that is behind.
///
/// Holds `delay` + 1 tensors per site of the parameter, on the ranks that have one.
template <class View, class Space>
class delayed_tied_gradient {
 public:
  using real = typename View::non_const_value_type;

  /// One use of the parameter. `gradient` is a flat view on the rank that holds it, empty elsewhere.
  struct site {
    int rank = 0;
    View gradient;
  };

  /// Does not communicate. `sites` in site order.
  delayed_tied_gradient(int group, std::vector<site> sites, transport::endpoint& door, int delay, double deadline)
      : sites_(std::move(sites)),
        door_(door) {
    for (site const& each : sites_)
      if (each.rank == door.rank()) elements_ = each.gradient.extent(0);
    if (elements_ == 0) return;
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      tags_.push_back(schedule::tie_tag(group, static_cast<int>(index)));
      int const rank = sites_[index].rank;
      if (rank != door.rank() && std::find(peers_.begin(), peers_.end(), rank) == peers_.end()) peers_.push_back(rank);
    }
    for (int each = 0; each <= delay; ++each) {
      auto& made = slots_.emplace_back();
      for (std::size_t index = 0; index < sites_.size(); ++index) {
        made.part.emplace_back("weft::delayed_tied_gradient", elements_);
        made.host.push_back(execution::make_mirror("weft::tied_mirror", made.part.back()));
      }
      made.posted = std::make_unique<transport::posted_messages>(door, "the gradient of a tied parameter", deadline);
    }
  }
  delayed_tied_gradient(delayed_tied_gradient&&) noexcept = default;
  delayed_tied_gradient& operator=(delayed_tied_gradient&&) = delete;
  ~delayed_tied_gradient() {
    for (auto& each : slots_)  // after a failure the transport may go on reading
      if (each.posted != nullptr && !each.posted->give_up())
        static_cast<void>(new (std::nothrow) std::vector<host_view>(each.host));
  }

  /// This rank holds a site.
  [[nodiscard]] bool is_here() const { return elements_ > 0; }
  /// This rank holds site 0, which stands for the parameter where it counts once.
  [[nodiscard]] bool is_owner() const { return sites_.front().rank == door_.rank(); }

  /// Takes the accumulators of this rank's sites at STEP `step`, every one in turn; the sum of `delay` + 1 steps before
  /// must have been taken. Communicates with the other sites' ranks, and does not wait.
  void give(Space const& space, std::int64_t step) {
    slot& to = at(step);
    {
      auto const lock = door_.launch_lock();
      for (std::size_t index = 0; index < sites_.size(); ++index) {
        if (!is_local(index)) continue;
        Kokkos::deep_copy(space, to.part[index], sites_[index].gradient);
        if (!peers_.empty() && to.host[index].data() != to.part[index].data())
          Kokkos::deep_copy(space, to.host[index], to.part[index]);
      }
      execution::fence(space, "weft::tied");
    }
    std::size_t const bytes = elements_ * sizeof(real);
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      if (!is_local(index)) {
        to.posted->receive(to.host[index].data(), bytes, sites_[index].rank, tags_[index]);
        continue;
      }
      for (int const peer : peers_) to.posted->send(to.host[index].data(), bytes, peer, tags_[index]);
    }
    to.is_summed = false;
  }

  /// The sum of a step over all sites, in site order. Waits for ranks that have not come to it; `on_turn()` is called
  /// meanwhile. The view is good until `give` of `delay` + 1 steps later.
  template <class OnTurn>
  View take(Space const& space, std::int64_t step, OnTurn&& on_turn) {
    slot& from = at(step);
    if (!from.is_summed) add(space, from, on_turn);
    return View(from.part[first_local()]);
  }

  /// Where the sum of a step is put back that an earlier run took with it; to be written before the next `give`.
  View restore(std::int64_t step) {
    slot& to = at(step);
    to.is_summed = true;
    return View(to.part[first_local()]);
  }

  [[nodiscard]] std::size_t bytes() const { return slots_.size() * sites_.size() * elements_ * sizeof(real); }

 private:
  using kernel = add_sites_kernel<real>;
  using storage = Kokkos::View<real*, Kokkos::LayoutRight, typename Space::memory_space>;
  using host_view = execution::mirror_of<storage>;  ///< what the endpoint reads and writes

  struct slot {
    std::vector<storage> part;  ///< of each site; once summed, the sum in those of this rank
    std::vector<host_view> host;
    std::unique_ptr<transport::posted_messages> posted;
    bool is_summed = true;
  };

  [[nodiscard]] slot& at(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  [[nodiscard]] bool is_local(std::size_t index) const { return sites_[index].rank == door_.rank(); }
  [[nodiscard]] std::size_t first_local() const {
    std::size_t index = 0;
    while (!is_local(index)) ++index;
    return index;
  }

  template <class OnTurn>
  void add(Space const& space, slot& from, OnTurn&& on_turn) {
    from.posted->settle(on_turn);
    auto const lock = door_.launch_lock();
    kernel sum{};
    sum.count = static_cast<int>(sites_.size());
    for (std::size_t index = 0; index < sites_.size(); ++index) {
      sum.is_local[index] = is_local(index);
      if (!is_local(index) && from.host[index].data() != from.part[index].data())
        Kokkos::deep_copy(space, from.part[index], from.host[index]);
      sum.site[index] = from.part[index].data();
    }
    execution::for_each(space, static_cast<std::int64_t>(elements_), sum);
    execution::fence(space, "weft::tied");
    from.is_summed = true;
  }

  std::vector<site> sites_;
  transport::endpoint& door_;
  std::vector<int> tags_;
  std::vector<int> peers_;
  std::size_t elements_ = 0;
  std::vector<slot> slots_;
};

}  // namespace weft::inline v1::train
