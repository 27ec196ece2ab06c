// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/device_runtime.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace weft::inline v1::execution {

/// Places in the work of one stream that can be asked for: a number for each, larger than earlier ones. Neither call
/// waits. Events are made as they are needed and used again. `Calls`: see device_runtime.hpp.
template <class Calls>
class stream_marks {
 public:
  explicit stream_marks(typename Calls::stream of) : of_(of) {}
  stream_marks(stream_marks&& other) noexcept
      : of_(other.of_),
        under_way_(std::exchange(other.under_way_, {})),
        spare_(std::exchange(other.spare_, {})),
        marked_(other.marked_),
        done_(other.done_) {}
  stream_marks& operator=(stream_marks&&) = delete;
  ~stream_marks() {
    for (auto& each : under_way_) Calls::free_event(each.second);
    for (auto& each : spare_) Calls::free_event(each);
  }

  /// Behind what the stream was given so far.
  [[nodiscard]] std::uint64_t mark() {
    if (spare_.empty()) spare_.push_back(Calls::make_event());
    Calls::record(spare_.back(), of_);
    under_way_.emplace_back(++marked_, spare_.back());
    spare_.pop_back();
    return marked_;
  }

  /// Whether all work before that mark is done. Throws where the runtime tells of a failure.
  [[nodiscard]] bool is_done(std::uint64_t number) {
    while (done_ < number && !under_way_.empty() && Calls::has_passed(under_way_.front().second)) {
      done_ = under_way_.front().first;
      spare_.push_back(under_way_.front().second);
      under_way_.pop_front();
    }
    return done_ >= number;
  }

 private:
  typename Calls::stream of_;
  std::deque<std::pair<std::uint64_t, typename Calls::event>> under_way_;  // not seen to pass, in order
  std::vector<typename Calls::event> spare_;
  std::uint64_t marked_ = 0;
  std::uint64_t done_ = 0;
};

/// The same for an instance, which must outlive it (Kokkos has no events). The host's instances have no queues: what
/// they were given is done. There are others too (OpenMP target, SYCL): there is_done would have to wait, so they are
/// refused.
template <class Space>
class marks {
 public:
  explicit marks(Space const& space) : marks_(calls::stream_of(space)) {}
  [[nodiscard]] std::uint64_t mark() { return marks_.mark(); }
  [[nodiscard]] bool is_done(std::uint64_t number) { return marks_.is_done(number); }

 private:
  using calls = stream_calls<Space>;
  stream_marks<calls> marks_;
};

template <class Space>
  requires is_host_space<Space>
class marks<Space> {
 public:
  explicit marks(Space const&) {}
  [[nodiscard]] std::uint64_t mark() { return ++marked_; }
  [[nodiscard]] bool is_done(std::uint64_t) { return true; }

 private:
  std::uint64_t marked_ = 0;
};

}  // namespace weft::inline v1::execution
