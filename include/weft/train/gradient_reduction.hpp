// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/collective/play_locally.hpp>
#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_all_reduce.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// Sums the gradients of one rank's stages over the data axis, bucket by bucket, while the pipeline goes on.
///
/// A bucket is a run of parameters of one layer, or one tied parameter: never more, so that no cut of layers into
/// stages changes which chunk of a collective an element is in, and with it the order of its additions. The same sums
/// are made without other ranks from the accumulators of `gradient_groups`, bit for bit.
template <class Store, class Space>
class gradient_reduction {
 public:
  using real = typename Store::view_type::non_const_value_type;

  /// `data`: the ranks that hold the same stages, null where there is no data axis. `layer_of_entry`: see model_stage.
  /// Does not communicate.
  gradient_reduction(Store const& store, std::vector<int> const& layer_of_entry, transport::endpoint* data,
                     collective::all_reduce_choice const& policy)
      : store_(store),
        data_(data) {
    groups_ = store.gradient_groups();
    if (!is_needed()) return;
    if (data == nullptr) list_ = policy.list(groups_);
    auto const& entries = store.entries();
    for (std::size_t first = 0; first < entries.size();) {
      auto const& each = entries[first].descriptor;
      std::size_t last = first + 1;
      if (!each.frozen && each.tie_group < 0)
        while (last < entries.size() && belong_together(entries, layer_of_entry, first, last)) ++last;
      if (!each.frozen && !is_later_site(entries, first)) add_bucket(store, first, last, policy);
      first = last;
    }
  }

  /// Begins with the stage's buckets, tied parameters apart. Its gradients must be complete and fenced.
  void start(transport::endpoint& door, Space const& space, int stage) {
    for (auto& each : buckets_)
      if (!each.is_tied && each.stage == stage) start(door, space, each);
  }

  /// The same for tied parameters, once every use site of this pipeline has been added up.
  void start_tied(transport::endpoint& door, Space const& space) {
    for (auto& each : buckets_)
      if (each.is_tied) start(door, space, each);
  }

  gradient_reduction(gradient_reduction const&) = delete;
  gradient_reduction& operator=(gradient_reduction const&) = delete;
  ~gradient_reduction() {
    for (auto& each : buckets_)
      if (each.is_running && !each.run->give_up()) {
        // After a failure the transport may go on reading: what it reads stays for ever.
        static_cast<void>(new host_view(each.host[0]));
        store_.keep_for_ever();
      }
  }

  /// Moves messages that are under way, and never blocks.
  void advance() {
    for (std::size_t index = first_running_; index < buckets_.size(); ++index)
      if (buckets_[index].is_running && buckets_[index].run->advance()) buckets_[index].is_running = false;
    while (first_running_ < buckets_.size() && !buckets_[first_running_].is_running) ++first_running_;
  }

  /// Waits for all buckets; then every accumulator of group 0 holds the sum, on all ranks of the data axis alike.
  void finish(transport::endpoint& door, Space const& space, double deadline) {
    if (data_ != nullptr)
      wait(deadline);
    else
      for (auto& each : buckets_) play_groups(door, space, each);
    auto const lock = door.launch_lock();
    for (auto& each : buckets_) {
      Kokkos::deep_copy(space, each.gradient[0], each.host[0]);
      for (auto const& other : each.other_sites) Kokkos::deep_copy(space, other, each.gradient[0]);
    }
    if (!buckets_.empty()) execution::fence(space, "weft::reduce");
  }

  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }

  /// Held for messages and, on a device, for mirrors.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& each : buckets_) {
      if (each.run != nullptr) sum += each.run->scratch_bytes();
      if constexpr (!is_host) sum += each.host.size() * each.host[0].extent(0) * sizeof(real);
    }
    return sum;
  }

 private:
  using view_type = typename Store::view_type;
  using host_view = decltype(Kokkos::create_mirror_view(std::declval<view_type const&>()));
  static constexpr bool is_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;

  struct bucket {
    int stage = 0;
    bool is_tied = false;
    std::vector<view_type> gradient;  ///< one per group
    std::vector<host_view> host;      ///< what the transport reads and writes: the same where that is host memory
    std::vector<view_type> other_sites;
    std::unique_ptr<transport::running_all_reduce<real>> run;
    bool is_running = false;
  };

  [[nodiscard]] bool is_needed() const { return data_ != nullptr || groups_ > 1; }

  template <class Entries>
  static bool belong_together(Entries const& entries, std::vector<int> const& layer_of_entry, std::size_t first,
                              std::size_t last) {
    auto const& next = entries[last];
    return next.stage == entries[first].stage && layer_of_entry[last] == layer_of_entry[first] &&
           !next.descriptor.frozen && next.descriptor.tie_group < 0;
  }

  /// A tied parameter is reduced once per rank, by its first use site here.
  template <class Entries>
  static bool is_later_site(Entries const& entries, std::size_t index) {
    int const group = entries[index].descriptor.tie_group;
    for (std::size_t before = 0; group >= 0 && before < index; ++before)
      if (entries[before].descriptor.tie_group == group) return true;
    return false;
  }

  void add_bucket(Store const& store, std::size_t first, std::size_t last,
                  collective::all_reduce_choice const& policy) {
    auto const& entries = store.entries();
    bucket made;
    made.stage = entries[first].stage;
    made.is_tied = entries[first].descriptor.tie_group >= 0;
    for (int group = 0; group < groups_; ++group) {
      made.gradient.push_back(store.gradients(first, last, group));
      made.host.push_back(Kokkos::create_mirror_view(made.gradient.back()));
    }
    for (std::size_t later = last; made.is_tied && later < entries.size(); ++later)
      if (entries[later].descriptor.tie_group == entries[first].descriptor.tie_group)
        made.other_sites.push_back(store.gradient(entries[later]));
    if (data_ != nullptr)
      made.run = std::make_unique<transport::running_all_reduce<real>>(
          *data_, policy, static_cast<std::int64_t>(made.gradient[0].extent(0)),
          schedule::running_tag(static_cast<int>(buckets_.size())));
    buckets_.push_back(std::move(made));
  }

  void copy_out(transport::endpoint& door, Space const& space, bucket& each) {
    if constexpr (!is_host) {
      auto const lock = door.launch_lock();
      for (std::size_t group = 0; group < each.gradient.size(); ++group)
        Kokkos::deep_copy(space, each.host[group], each.gradient[group]);
      execution::fence(space, "weft::reduce");
    }
  }

  void start(transport::endpoint& door, Space const& space, bucket& each) {
    if (data_ == nullptr) return;
    copy_out(door, space, each);
    each.run->start(each.host[0].data());
    each.is_running = true;
    first_running_ = (std::min)(first_running_, static_cast<std::size_t>(&each - buckets_.data()));
  }

  /// For the first that is under way, moving all of them.
  void wait(double deadline) {
    for (advance(); first_running_ < buckets_.size(); advance())
      buckets_[first_running_].run->wait(deadline, [&] { advance(); });
  }

  void play_groups(transport::endpoint& door, Space const& space, bucket& each) {
    copy_out(door, space, each);
    std::vector<real*> buffers;
    for (auto& host : each.host) buffers.push_back(host.data());
    collective::play_locally(list_, buffers.data(), static_cast<std::int64_t>(each.host[0].extent(0)));
  }

  Store const& store_;
  transport::endpoint* data_;
  int groups_ = 1;
  collective::step_list list_;
  std::vector<bucket> buckets_;
  std::size_t first_running_ = 0;
};

}  // namespace weft::inline v1::train
