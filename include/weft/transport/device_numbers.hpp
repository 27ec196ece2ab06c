// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/add_received.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/marks.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/number_memory.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>

namespace weft::inline v1::transport {

/// Numbers in the memory of Space: a kernel adds them, on an instance that is better not the one that computes. It is
/// launched while messages are moved, in the midst of other launches or not, and asks the door for its turn.
template <class Number, class Space>
class device_numbers {
 public:
  /// `door` must outlive it.
  device_numbers(endpoint& door, Space const& space) : door_(&door), space_(space), marks_(space_) {}

  [[nodiscard]] Number* make_scratch(std::size_t count) {
    scratch_ = execution::allocate<storage>("weft::segments", count, Kokkos::WithoutInitializing);
    return scratch_.data();
  }
  std::uint64_t add(Number* own, Number const* received, std::size_t count) {
    auto const lock = door_->launch_lock();
    execution::for_each(space_, static_cast<std::int64_t>(count), execution::add_received<Number>{own, received});
    return marks_.mark();
  }
  [[nodiscard]] bool is_done(std::uint64_t number) { return marks_.is_done(number); }
  void finish() noexcept {
    try {
      execution::fence(space_, "weft::reduction");
    } catch (std::exception const&) {  // a device that failed adds nothing any more
    }
  }

 private:
  using storage = Kokkos::View<Number*, Kokkos::LayoutRight, typename Space::memory_space>;

  endpoint* door_;
  Space space_;
  execution::marks<Space> marks_;
  storage scratch_;
};

}  // namespace weft::inline v1::transport
