// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/execution/reduce.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// The squares of a model's gradients, by blocks of 65,536 elements, in (name, block) order: the same places on every
/// rank, so that one adds up what the ranks have put there and no split over them changes a bit. A tied parameter has
/// its blocks once, under its first use site. Does not communicate.
template <class Store, class Space>
class norm_blocks {
 public:
  norm_blocks() = default;
  /// `all`: of the whole model, in any order. `counted_stages`: whose parameters this rank puts in place.
  norm_blocks(std::vector<parameters::parameter_descriptor> const& all, std::vector<int> counted_stages)
      : counted_stages_(std::move(counted_stages)) {
    for (auto const& each : all)
      if (each.use_site == 0) begin_of_[each.name] = static_cast<std::size_t>(each.elements());
    for (auto& [name, begin] : begin_of_) {
      std::size_t const count = blocks_of(static_cast<std::int64_t>(begin));
      begin = size_;
      size_ += count;
    }
    there_ = storage("weft::block_norms", size_);
    here_ = execution::make_mirror("weft::block_norms_mirror", there_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Writes this rank's blocks into the first `size()` numbers of `into`, and leaves the others alone. Waits for
  /// `space`, under the launch lock.
  void put(Space const& space, Store const& store, std::vector<double>& into) {
    for (auto const& entry : store.entries())
      if (counts(entry))
        block_norms(space, static_cast<typename Store::weight const*>(store.gradient(entry).data()), entry.elements,
                    there_.data() + begin_of_.at(entry.descriptor.name));
    Kokkos::deep_copy(space, here_, there_);
    execution::fence(space, "weft::norm");
    for (auto const& entry : store.entries()) {
      if (!counts(entry)) continue;
      std::size_t const begin = begin_of_.at(entry.descriptor.name);
      for (std::size_t block = begin; block < begin + blocks_of(entry.elements); ++block) into[block] = here_(block);
    }
  }

  /// Of all ranks' blocks, one after the other.
  [[nodiscard]] double sum(std::vector<double> const& from) const {
    double total = 0.0;
    for (std::size_t block = 0; block < size_; ++block) total += from[block];
    return total;
  }

 private:
  using storage = Kokkos::View<double*, Kokkos::LayoutRight, typename Space::memory_space>;

  static std::size_t blocks_of(std::int64_t elements) {
    return static_cast<std::size_t>(reduction::blocks_of(elements));
  }
  template <class Entry>
  [[nodiscard]] bool counts(Entry const& entry) const {
    return entry.descriptor.use_site == 0 && !entry.descriptor.frozen &&
           std::find(counted_stages_.begin(), counted_stages_.end(), entry.stage) != counted_stages_.end();
  }

  std::vector<int> counted_stages_;
  std::map<std::string, std::size_t> begin_of_;
  std::size_t size_ = 0;
  storage there_;
  execution::mirror_of<storage> here_;
};

}  // namespace weft::inline v1::train
