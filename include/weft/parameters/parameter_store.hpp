// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/random.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/plan/precision.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::parameters {

/// Owns every parameter of this rank's stages, and all that training keeps beside them, in flat buffers at fixed
/// addresses: value, gradient, first and second moment. Value and moments have two version slots: STEP reads the
/// current one and writes the next one, `commit` swaps, so a step that must not count is simply not committed.
/// Asynchronous schedules keep more values of a stage (`keep_values`): a ring, of which STEP overwrites the oldest.
///
/// There is one gradient accumulator per group of micro-batches (`gradient_groups`): what other data ranks hold in a
/// data-parallel run, and a run on fewer ranks must keep apart to get the same bits.
///
/// One entry is one *use site*: a tied parameter that is used twice on this rank has two entries, each with its own
/// gradient accumulator, since sites are added in one order wherever they live. Value and moments they share: those of
/// the site that came first (`owner`), which STEP needs to write but once. Does not communicate.
///
/// `Real` is a type of numbers or a `precision`. Where layers compute in a narrower type than that of the weights,
/// every value has a copy in it beside, which STEP writes in the same turn and which turns with the slots
/// (`compute_value`).
template <class Real, class Space>
class parameter_store {
 public:
  using execution_space = Space;
  using numbers = precision_of<Real>;
  using weight = typename numbers::weight;
  using compute = typename numbers::compute;
  using view_type = execution::flat_view<weight, Space>;  ///< of values, moments and gradients
  using compute_view = execution::flat_view<compute, Space>;
  /// Whether `compute_value` is memory of its own.
  static constexpr bool has_copies = !std::is_same_v<weight, compute>;

  struct entry {
    parameter_descriptor descriptor;
    int stage = 0;
    std::int64_t offset = 0;  ///< of its first element in the stage's gradients
    std::int64_t elements = 0;
    int buffer = 0;                 ///< which of the store's stages, in the order of `add_stage`
    int owner = -1;                 ///< the entry whose value and moments these are; -1: its own
    int value_buffer = 0;           ///< which of the store's stages holds value and moments
    std::int64_t value_offset = 0;  ///< of its first element there
  };

  /// Numbers of the weights' type kept per parameter that owns its value: two values, a gradient, twice two moments.
  static constexpr int copies = 7;

  explicit parameter_store(int gradient_groups = 1) : gradient_groups_(gradient_groups) {
    if (gradient_groups < 1)
      throw error("weft::parameter_store: " + std::to_string(gradient_groups) +
                  " gradient groups are impossible; name one or more");
  }

  /// Allocates a stage's buffers, zeroed; returns the index of its first entry. Every tensor starts at a multiple of
  /// 64 elements.
  int add_stage(int stage, std::vector<parameter_descriptor> descriptors) {
    int const first = static_cast<int>(entries_.size());
    int const buffer = static_cast<int>(buffers_.size());
    std::int64_t offset = 0;
    std::int64_t value_offset = 0;
    for (parameter_descriptor& each : descriptors) {
      std::int64_t const elements = each.elements();
      std::int64_t const room = (elements + alignment - 1) / alignment * alignment;
      entry made{std::move(each), stage, offset, elements, buffer, -1, buffer, value_offset};
      offset += room;
      if (int const owner = first_use(made.descriptor); owner >= 0) {
        entry const& from = entries_[static_cast<std::size_t>(owner)];
        made.owner = owner;
        made.value_buffer = from.value_buffer;
        made.value_offset = from.value_offset;
      } else {
        value_offset += room;
      }
      entries_.push_back(std::move(made));
    }
    std::size_t const size = static_cast<std::size_t>(offset);
    std::size_t const own_size = static_cast<std::size_t>(value_offset);
    stage_buffers made;
    for (int slot = 0; slot < 2; ++slot) {
      made.add_value(own_size);
      made.first[slot] = execution::allocate<storage>("weft::first_moment", own_size);
      made.second[slot] = execution::allocate<storage>("weft::second_moment", own_size);
    }
    for (int group = 0; group < gradient_groups_; ++group)
      made.gradient.push_back(execution::allocate<storage>("weft::parameter_gradient", size));
    buffers_.push_back(std::move(made));
    return first;
  }

  /// Makes room for `count` values of a stage's parameters, two at least: the newest and those of the STEPs before.
  /// Call before the first commit, as slots come round.
  void keep_values(int stage, int count) {
    for (entry const& each : entries_) {
      if (each.stage != stage) continue;
      stage_buffers& kept = buffers_[static_cast<std::size_t>(each.buffer)];
      while (static_cast<int>(kept.value.size()) < count) kept.add_value(kept.value[0].extent(0));
      return;
    }
  }
  /// Values kept of the stage of an entry.
  [[nodiscard]] int values_of(entry const& which) const { return static_cast<int>(values_in(which).value.size()); }

  /// Of all buffers, with what lies between tensors.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (stage_buffers const& each : buffers_) {
      sum += ((each.value.size() + 4) * each.value[0].extent(0) + each.gradient.size() * each.gradient[0].extent(0)) *
             sizeof(weight);
      sum += each.copy.size() * each.value[0].extent(0) * sizeof(compute);
    }
    return sum;
  }

  [[nodiscard]] std::vector<entry> const& entries() const { return entries_; }

  /// Flat views on one tensor. Those of the other version slot are what STEP writes. `age`: of how many STEPs before.
  [[nodiscard]] view_type value(entry const& which, int age = 0) const {
    auto const& from = values_in(which);
    return view(from.value[from.slot_of(age)], which.value_offset, which);
  }
  /// The same as layers read it: the value itself, or its copy in the type that they compute in.
  [[nodiscard]] compute_view compute_value(entry const& which, int age = 0) const {
    auto const& from = values_in(which);
    if constexpr (has_copies)
      return view(from.copy[from.slot_of(age)], which.value_offset, which);
    else
      return value(which, age);
  }
  [[nodiscard]] view_type first_moment(entry const& which) const {
    return view(values_in(which).first[values_in(which).current], which.value_offset, which);
  }
  [[nodiscard]] view_type second_moment(entry const& which) const {
    return view(values_in(which).second[values_in(which).current], which.value_offset, which);
  }
  [[nodiscard]] view_type gradient(entry const& which, int group = 0) const {
    return view(of(which).gradient[static_cast<std::size_t>(group)], which.offset, which);
  }
  /// The gradients of consecutive entries of one stage, with the zeros between them: entries [first, last).
  [[nodiscard]] view_type gradients(std::size_t first, std::size_t last, int group = 0) const {
    entry const& begin = entries_[first];
    entry const& end = entries_[last - 1];
    return view_type(of(begin).gradient[static_cast<std::size_t>(group)].data() + begin.offset,
                     static_cast<std::size_t>(end.offset + end.elements - begin.offset));
  }
  [[nodiscard]] int gradient_groups() const { return gradient_groups_; }
  [[nodiscard]] view_type next_value(entry const& which) const {
    return view(values_in(which).value[static_cast<std::size_t>(values_in(which).next())], which.value_offset, which);
  }
  /// What STEP writes beside; that of `next_value` itself where there are no copies.
  [[nodiscard]] compute_view next_compute_value(entry const& which) const {
    auto const& from = values_in(which);
    if constexpr (has_copies)
      return view(from.copy[static_cast<std::size_t>(from.next())], which.value_offset, which);
    else
      return next_value(which);
  }
  [[nodiscard]] view_type next_first_moment(entry const& which) const {
    return view(values_in(which).first[1 - values_in(which).current], which.value_offset, which);
  }
  [[nodiscard]] view_type next_second_moment(entry const& which) const {
    return view(values_in(which).second[1 - values_in(which).current], which.value_offset, which);
  }

  /// Makes what STEP wrote the current state. Every entry must have been stepped or kept since the last commit.
  void commit() noexcept {
    for (stage_buffers& each : buffers_) each.turn();
  }
  /// The same of one stage.
  void commit(int stage) noexcept {
    for (entry const& each : entries_)
      if (each.stage == stage) return buffers_[static_cast<std::size_t>(each.buffer)].turn();
  }

  /// Takes the last commit back: the state before it is in the other slot, as it was.
  void roll_back() noexcept {
    for (stage_buffers& each : buffers_) each.turn_back();
  }

  /// For entries that STEP leaves alone (frozen ones): the next state is the current one.
  void keep(Space const& space, entry const& which) const {
    Kokkos::deep_copy(space, next_value(which), value(which));
    if constexpr (has_copies) Kokkos::deep_copy(space, next_compute_value(which), compute_value(which));
    Kokkos::deep_copy(space, next_first_moment(which), first_moment(which));
    Kokkos::deep_copy(space, next_second_moment(which), second_moment(which));
  }

  /// Never gives the gradients back: a transport may go on reading them after a failure.
  void keep_gradients_for_ever() const noexcept {
    for (stage_buffers const& each : buffers_)
      for (storage const& gradient : each.gradient) static_cast<void>(new (std::nothrow) storage(gradient));
  }

  /// Queues on `space`; does not wait.
  void zero_gradients(Space const& space) const {
    for (stage_buffers const& each : buffers_)
      for (storage const& gradient : each.gradient) Kokkos::deep_copy(space, gradient, weight(0));
  }
  /// The same of one stage.
  void zero_gradients(Space const& space, int stage) const {
    for (entry const& each : entries_) {
      if (each.stage != stage) continue;
      for (storage const& gradient : of(each).gradient) Kokkos::deep_copy(space, gradient, weight(0));
      return;
    }
  }

  /// Fills every current value as its descriptor says, and zeroes moments. A normal number is a function of (seed,
  /// name, logical element), made on the host, so that all ranks, splits and backends start with the same bits.
  void initialize(std::uint64_t seed) const {
    for (entry const& each : entries_) {
      std::vector<weight> host(static_cast<std::size_t>(each.elements), weight(0));
      if (each.descriptor.init == initializer::ones) host.assign(host.size(), weight(1));
      if (each.descriptor.init == initializer::normal) fill_normal(host, each.descriptor, seed);
      write(value(each), host.data());
    }
    refresh_copies();
    for (stage_buffers const& each : buffers_) {
      Kokkos::deep_copy(each.first[each.current], weight(0));
      Kokkos::deep_copy(each.second[each.current], weight(0));
    }
  }

  /// After values were written from outside: makes the copies that layers read again, of all ages. Through host memory;
  /// waits until done. Nothing to do where there are none.
  void refresh_copies() const {
    if constexpr (has_copies) {
      std::vector<weight> wide;
      std::vector<compute> narrow;
      for (entry const& each : entries_) {
        if (each.owner >= 0) continue;
        wide.resize(static_cast<std::size_t>(each.elements));
        narrow.resize(static_cast<std::size_t>(each.elements));
        for (int age = 0; age < values_of(each); ++age) {
          read(value(each, age), wide.data());
          for (std::size_t index = 0; index < wide.size(); ++index) narrow[index] = static_cast<compute>(wide[index]);
          Kokkos::deep_copy(compute_value(each, age), host_numbers<compute const>(narrow.data(), narrow.size()));
        }
      }
    }
  }

  /// Copies between a view of this store and host memory of as many elements; wait until done. `refresh_copies` follows
  /// where values were written.
  static void read(view_type const& from, weight* host) {
    Kokkos::deep_copy(host_numbers<weight>(host, from.extent(0)), from);
  }
  static void write(view_type const& to, weight const* host) {
    Kokkos::deep_copy(to, host_numbers<weight const>(host, to.extent(0)));
  }

 private:
  template <class Number>
  using storage_of = Kokkos::View<Number*, Kokkos::LayoutRight, typename Space::memory_space>;
  using storage = storage_of<weight>;
  template <class Number>
  using host_numbers = Kokkos::View<Number*, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

  static constexpr std::int64_t alignment = 64;

  struct stage_buffers {
    std::vector<storage> value;             // a ring: the newest, and from there backwards the older ones
    std::vector<storage_of<compute>> copy;  // of each value, where layers compute in another type
    storage first[2];
    storage second[2];
    std::vector<storage> gradient;  // one per group
    int newest = 0;                 // of the values
    int current = 0;                // of the moments

    void add_value(std::size_t elements) {
      value.push_back(execution::allocate<storage>("weft::parameter_value", elements));
      if constexpr (has_copies)
        copy.push_back(execution::allocate<storage_of<compute>>("weft::parameter_copy", elements));
    }
    [[nodiscard]] std::size_t slot_of(int age) const {
      return static_cast<std::size_t>(newest >= age ? newest - age : newest - age + static_cast<int>(value.size()));
    }
    [[nodiscard]] int next() const { return newest + 1 < static_cast<int>(value.size()) ? newest + 1 : 0; }
    void turn() noexcept {
      newest = next();
      current = 1 - current;
    }
    void turn_back() noexcept {
      newest = newest > 0 ? newest - 1 : static_cast<int>(value.size()) - 1;
      current = 1 - current;
    }
  };

  [[nodiscard]] stage_buffers const& of(entry const& which) const {
    return buffers_[static_cast<std::size_t>(which.buffer)];
  }
  [[nodiscard]] stage_buffers const& values_in(entry const& which) const {
    return buffers_[static_cast<std::size_t>(which.value_buffer)];
  }
  template <class Number>
  [[nodiscard]] static execution::flat_view<Number, Space> view(storage_of<Number> const& buffer, std::int64_t offset,
                                                                entry const& which) {
    return execution::flat_view<Number, Space>(buffer.data() + offset, static_cast<std::size_t>(which.elements));
  }

  /// The entry that owns the value of another use of the same parameter, or -1.
  [[nodiscard]] int first_use(parameter_descriptor const& of_one) const {
    for (std::size_t index = 0; of_one.tie_group >= 0 && index < entries_.size(); ++index)
      if (entries_[index].descriptor.tie_group == of_one.tie_group && entries_[index].owner < 0 &&
          entries_[index].descriptor.name == of_one.name && entries_[index].elements == of_one.elements())
        return static_cast<int>(index);
    return -1;
  }

  /// Four elements share one Philox counter (element / 4, hash of the name).
  static void fill_normal(std::vector<weight>& host, parameter_descriptor const& descriptor, std::uint64_t seed) {
    std::uint64_t const name = random::hash(descriptor.name);
    for (std::size_t first = 0; first < host.size(); first += 4) {
      std::uint64_t const group = first / 4;
      random::words const drawn =
          random::philox(random::words{{static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32),
                                        static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32)}},
                         random::make_key(seed));
      random::pair const low = random::normal(drawn.word[0], drawn.word[1]);
      random::pair const high = random::normal(drawn.word[2], drawn.word[3]);
      double const four[4] = {low.first, low.second, high.first, high.second};
      for (std::size_t lane = 0; lane < 4 && first + lane < host.size(); ++lane)
        host[first + lane] = static_cast<weight>(descriptor.standard_deviation * four[lane]);
    }
  }

  std::vector<entry> entries_;
  std::vector<stage_buffers> buffers_;
  int gradient_groups_;
};

}  // namespace weft::inline v1::parameters
