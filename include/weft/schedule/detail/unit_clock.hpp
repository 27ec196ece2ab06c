// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/op.hpp>

namespace weft::inline v1::schedule::detail {

/// What orders are made with where no closed rule exists: plays passes of whole time units on a chain of stages, every
/// stage in the order of micro-batches. An order taken from such a play cannot deadlock.
class unit_clock {
 public:
  constexpr unit_clock(int stages, int micro_batches)
      : stages_(stages),
        micro_batches_(micro_batches),
        forward_end_(stages * micro_batches),
        backward_end_(stages * micro_batches),
        forwards_(stages),
        backwards_(stages),
        weights_(stages) {}

  [[nodiscard]] constexpr int forwards(int stage) const { return forwards_[stage]; }
  [[nodiscard]] constexpr int backwards(int stage) const { return backwards_[stage]; }
  [[nodiscard]] constexpr int weights(int stage) const { return weights_[stage]; }
  /// Micro-batches whose F is done and whose last backward is not.
  [[nodiscard]] constexpr int kept(int stage) const { return forwards_[stage] - weights_[stage]; }

  /// Whether the stage's next forward has its input at time `now`.
  [[nodiscard]] constexpr bool can_forward(int stage, int now) const {
    int const next = forwards_[stage];
    return next < micro_batches_ && (stage == 0 || has_ended(forward_end_, stage - 1, next, now));
  }
  /// Whether the stage's next B or I has its input.
  [[nodiscard]] constexpr bool can_backward(int stage, int now) const {
    int const next = backwards_[stage];
    return next < forwards_[stage] && has_ended(forward_end_, stage, next, now) &&
           (stage == stages_ - 1 || has_ended(backward_end_, stage + 1, next, now));
  }
  [[nodiscard]] constexpr bool can_weight(int stage, int now) const {
    int const next = weights_[stage];
    return next < backwards_[stage] && has_ended(backward_end_, stage, next, now);
  }

  /// Each returns the micro-batch.
  constexpr int forward(int stage, int end) {
    forward_end_[stage * micro_batches_ + forwards_[stage]] = end;
    return forwards_[stage]++;
  }
  constexpr int backward(int stage, int end) {
    backward_end_[stage * micro_batches_ + backwards_[stage]] = end;
    return backwards_[stage]++;
  }
  constexpr int weight(int stage) { return weights_[stage]++; }

 private:
  /// Ends are times from 1; 0 is "not begun".
  [[nodiscard]] constexpr bool has_ended(weft::detail::buffer<int> const& ends, int stage, int micro_batch,
                                         int now) const {
    int const end = ends[stage * micro_batches_ + micro_batch];
    return end != 0 && end <= now;
  }

  int stages_;
  int micro_batches_;
  weft::detail::buffer<int> forward_end_;
  weft::detail::buffer<int> backward_end_;
  weft::detail::buffer<int> forwards_;
  weft::detail::buffer<int> backwards_;
  weft::detail::buffer<int> weights_;
};

/// For a play whose order nobody wants yet.
struct no_writer {
  constexpr void operator()(int /*rank*/, op /*what*/, int /*stage*/, int /*micro_batch*/) const {}
};

}  // namespace weft::inline v1::schedule::detail
