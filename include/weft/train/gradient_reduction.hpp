// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/collective/association.hpp>
#include <weft/collective/check.hpp>
#include <weft/collective/play_locally.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/pinned.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/device_numbers.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_all_reduce.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// Sums the gradients of one rank's stages over all ranks that hold the same stage (the data axis, and the copies of
/// the model where there are two), bucket by bucket, while the pipeline goes on.
///
/// A bucket is a run of parameters of one layer, or one tied parameter: never more, so that no cut of layers into
/// stages changes which chunk of a collective an element is in, and with it the order of its additions. The same sums
/// are made without other ranks from the accumulators of `gradient_groups`, bit for bit.
///
/// On a device, messages go from and into the accumulators and a kernel adds them (`in_place`, where every door between
/// the ranks hands bodies over: transport/bodies_in_place.hpp), or by way of pinned mirrors, which the host adds: the
/// same bits. The device vendor's library sums the accumulators itself, and between vendors their leaders do in place.
/// `IsDevice`: the accumulators are in such memory. A host's may be treated so, which has the same bits too: programs
/// for hosts then have code for what devices do, so by default they do not.
template <class Store, class Space, bool IsDevice = !execution::is_host_space<Space>>
class gradient_reduction {
 public:
  using real = typename Store::view_type::non_const_value_type;

  /// `holders`: of each stage, the ranks that hold it, as many for all; empty where this one is alone (see replica).
  /// `in_place`: the same on all of them. `layer_of_entry`: see model_stage. `deadline`: seconds that one wait may
  /// take. Throws `error` for a policy of the user's own that is wrong for so many ranks. Does not communicate.
  gradient_reduction(Store const& store, std::vector<int> const& layer_of_entry,
                     std::vector<transport::endpoint*> const& holders, collective::all_reduce_choice const& policy,
                     double deadline, bool in_place = false)
      : store_(store),
        holders_(holders),
        deadline_(deadline),
        is_library_(policy.is_device_library() || policy.is_by_vendor()),
        begins_in_order_(policy.is_library()),
        in_place_(in_place && is_shared()) {
    groups_ = store.gradient_groups();
    if (!is_shared() && groups_ == 1) return;
    int parts = groups_;
    for (auto const* const each : holders_)
      if (each != nullptr) parts = each->size();
    require_correct(policy, parts);
    if (!is_shared()) list_ = policy.list(groups_);
    auto const& entries = store.entries();
    for (std::size_t first = 0; first < entries.size();) {
      auto const& each = entries[first].descriptor;
      std::size_t last = first + 1;
      if (!each.frozen && each.tie_group < 0)
        while (last < entries.size() && belong_together(entries, layer_of_entry, first, last)) ++last;
      if (!each.frozen && !is_later_site(entries, first)) add_bucket(first, last, policy);
      first = last;
    }
  }
  gradient_reduction(gradient_reduction const&) = delete;
  gradient_reduction& operator=(gradient_reduction const&) = delete;
  ~gradient_reduction() {
    bool is_free = true;
    for (auto& each : buckets_)
      if (each.is_running && !with_run(each, [](auto& run) { return run.give_up(); })) {
        is_free = false;
        if (!each.host.empty()) static_cast<void>(new (std::nothrow) host_view(each.host[0]));
      }
    if (!has_mirrors() && !is_free) store_.keep_gradients_for_ever();  // the transport may go on reading them
  }

  /// Begins with the stage's buckets, tied parameters apart. Its gradients must be complete and fenced. Communicates
  /// with the stage's holders, and does not wait.
  void start(transport::endpoint& door, Space const& space, int stage) {
    for (auto& each : buckets_)
      if (!each.is_tied && each.stage == stage) start(door, space, each);
  }

  /// The same for tied parameters, once every use site of this pipeline has been added up, each copy's for itself. A
  /// library's sums must begin in one order on all holders, and a table fixes that of stages' sums alone: tied ones
  /// then begin in `finish`, behind all others.
  void start_tied(transport::endpoint& door, Space const& space) {
    if (!begins_in_order_) start_all_tied(door, space);
  }

  /// Moves messages of one bucket that is under way, the next one with each call. Communicates, never blocks.
  void advance() {
    if (running_ == 0) return;
    while (!buckets_[turn_ % buckets_.size()].is_running) ++turn_;
    advance(buckets_[turn_++ % buckets_.size()]);
  }

  /// Waits for all buckets; then every accumulator of group 0 holds the sum, on all holders alike. Collective over the
  /// ranks that hold the same stages.
  void finish(transport::endpoint& door, Space const& space) {
    if (begins_in_order_) start_all_tied(door, space);
    for (auto& each : buckets_) {
      if (is_shared())
        wait(each);
      else
        play_groups(door, space, each);
    }
    if (buckets_.empty()) return;
    auto const lock = door.launch_lock();
    for (auto& each : buckets_) {
      if constexpr (IsDevice)
        if (has_mirrors()) Kokkos::deep_copy(space, each.gradient[0], each.host[0]);
      for (auto const& other : each.other_sites) Kokkos::deep_copy(space, other, each.gradient[0]);
    }
    execution::fence(space, "weft::reduction");
  }

  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }

  /// Held for messages and, on a device, for mirrors. Does not communicate.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (auto const& each : buckets_) {
      if (is_shared()) sum += with_run(each, [](auto const& run) { return run.scratch_bytes(); });
      if constexpr (IsDevice) sum += each.host.size() * each.gradient[0].extent(0) * sizeof(real);
    }
    return sum;
  }

 private:
  using view_type = typename Store::view_type;
  using host_view = Kokkos::View<real*, Kokkos::LayoutRight, execution::pinned<typename Space::memory_space>>;

  using run_on_host = transport::running_all_reduce<real>;
  using run_on_device = transport::running_all_reduce<real, transport::device_numbers<real, Space>>;

  struct bucket {
    int stage = 0;
    bool is_tied = false;
    std::vector<view_type> gradient;  ///< one per group
    std::vector<host_view> host;      ///< of each, the same memory or its mirror; empty where there is neither
    std::vector<real*> pointers;      ///< to what the transport, or the host's additions, read and write
    std::vector<view_type> other_sites;
    std::unique_ptr<run_on_host> run;
    std::unique_ptr<run_on_device> run_there;  ///< one of the two
    bool is_running = false;
  };

  [[nodiscard]] bool is_shared() const { return !holders_.empty(); }
  [[nodiscard]] bool has_mirrors() const { return IsDevice && !in_place_ && !is_library_; }

  /// Does not instantiate what hosts have no use for.
  template <class Bucket, class Function>
  static auto with_run(Bucket& each, Function&& function) {
    if constexpr (IsDevice)
      if (each.run_there != nullptr) return function(*each.run_there);
    return function(*each.run);
  }

  static void require_correct(collective::all_reduce_choice const& policy, int ranks) {
    if (policy.is_library()) return;
    auto const list = policy.list(ranks);
    auto const found = collective::check(list, collective::goal::all_reduce);
    if (!found.correct())
      throw error("weft::trainer: the all-reduce \"" + policy.name() + "\" is wrong for " + std::to_string(ranks) +
                  " ranks: " + collective::explain(found));
    if (!collective::has_one_association(list))
      throw error("weft::trainer: the all-reduce \"" + policy.name() + "\" adds in different orders on its " +
                  std::to_string(ranks) +
                  " ranks, so that replicas would drift apart; see weft::collective::has_one_association");
  }

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

  void add_bucket(std::size_t first, std::size_t last, collective::all_reduce_choice const& policy) {
    auto const& entries = store_.entries();
    bucket made;
    made.stage = entries[first].stage;
    made.is_tied = entries[first].descriptor.tie_group >= 0;
    for (int group = 0; group < groups_; ++group) {
      made.gradient.push_back(store_.gradients(first, last, group));
      view_type const& own = made.gradient.back();
      if constexpr (!IsDevice)
        made.host.push_back(host_view(own.data(), own.extent(0)));
      else if (has_mirrors())
        made.host.push_back(
            execution::allocate<host_view>("weft::gradient_mirror", own.extent(0), Kokkos::WithoutInitializing));
      made.pointers.push_back(made.host.empty() ? own.data() : made.host.back().data());
    }
    for (std::size_t later = last; made.is_tied && later < entries.size(); ++later)
      if (entries[later].descriptor.tie_group == entries[first].descriptor.tie_group)
        made.other_sites.push_back(store_.gradient(entries[later]));
    if (is_shared()) make_run(made, policy);
    buckets_.push_back(std::move(made));
  }

  void make_run(bucket& made, collective::all_reduce_choice const& policy) {
    auto& door = *holders_[static_cast<std::size_t>(made.stage)];
    auto const elements = static_cast<std::int64_t>(made.gradient[0].extent(0));
    int const tag = schedule::running_tag(static_cast<int>(buckets_.size()));
    transport::all_reduce_options const options{.in_parts = in_place_};
    if constexpr (IsDevice)
      if (in_place_ || policy.is_by_vendor()) {
        if (!adds_) adds_.emplace(execution::new_instance<Space>());
        made.run_there = std::make_unique<run_on_device>(door, policy, elements, tag, options,
                                                         transport::device_numbers<real, Space>(door, *adds_));
        return;
      }
    made.run = std::make_unique<run_on_host>(door, policy, elements, tag, options);
  }

  void copy_out(transport::endpoint& door, Space const& space, bucket& each) {
    if constexpr (IsDevice) {
      if (!has_mirrors()) return;
      auto const lock = door.launch_lock();
      for (std::size_t group = 0; group < each.gradient.size(); ++group)
        Kokkos::deep_copy(space, each.host[group], each.gradient[group]);
      execution::fence(space, "weft::reduction");
    }
  }

  void start_all_tied(transport::endpoint& door, Space const& space) {
    for (auto& each : buckets_)
      if (each.is_tied) start(door, space, each);
  }

  void start(transport::endpoint& door, Space const& space, bucket& each) {
    if (!is_shared()) return;
    // Tags come round: what had this one must be through, on every rank at the same place of the row.
    std::size_t const place = static_cast<std::size_t>(&each - buckets_.data());
    for (std::size_t other = place % schedule::tags::running; other < buckets_.size(); other += schedule::tags::running)
      if (other != place) wait(buckets_[other]);
    copy_out(door, space, each);
    each.is_running = true;
    ++running_;
    with_run(each, [&](auto& run) { run.start(each.pointers[0]); });
  }

  bool advance(bucket& each) {
    if (!each.is_running) return true;
    if (!with_run(each, [](auto& run) { return run.advance(); })) return false;
    each.is_running = false;
    --running_;
    return true;
  }

  /// For one, moving the others.
  void wait(bucket& each) {
    if (!each.is_running) return;
    with_run(each, [&](auto& run) { run.wait(deadline_, [&] { advance(); }); });
    static_cast<void>(advance(each));
  }

  void play_groups(transport::endpoint& door, Space const& space, bucket& each) {
    copy_out(door, space, each);
    collective::play_locally(list_, each.pointers.data(), static_cast<std::int64_t>(each.gradient[0].extent(0)));
  }

  Store const& store_;
  std::vector<transport::endpoint*> holders_;
  double deadline_;
  bool is_library_;  ///< the device vendor's, which takes the accumulators themselves
  bool begins_in_order_;
  bool in_place_;
  std::optional<Space> adds_;  ///< kernels that add what has come, beside those that compute
  int groups_ = 1;
  collective::step_list list_;
  std::vector<bucket> buckets_;
  std::size_t running_ = 0;  ///< buckets under way
  std::size_t turn_ = 0;     ///< whose messages move next
};

}  // namespace weft::inline v1::train
