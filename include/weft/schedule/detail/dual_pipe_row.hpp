// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/op.hpp>

#include <cstdint>

namespace weft::inline v1::schedule::detail {

/// What a rank runs through: one of its two stages. Stream 0 enters from the nearer end, stream 1 comes from the turn.
struct stream {
  int stage = 0;
  int copy = 0;
  int first = 0;  ///< micro-batch
  int forwards = 0;
  int backwards = 0;  ///< B and I
  int weights = 0;    ///< B and W
};

/// One rank's row of DualPipe and DualPipeV, which are the same order over two streams. `place`: how far the rank is
/// from the end where stream 0 enters; `depth`: ranks from there to the turn (DualPipe: half of them); `count`:
/// micro-batches of each stream.
template <class Writer>
class dual_pipe_row {
 public:
  constexpr dual_pipe_row(Writer& put, stream const& entering, stream const& returning)
      : put_(put),
        streams_{entering, returning} {}

  constexpr void write(int place, int depth, int count) {
    int const left = depth - place - 1;
    int const split = place + 1;  // of the last backwards but `left`, those that leave W for later
    repeat(2 * left, [&] { forward(0); });
    repeat(place + 1, [&] {
      forward(0);
      forward(1);
    });
    repeat(left, [&] {
      input(1);
      weight(1);
      forward(1);
    });
    for (int turn = 0; turn < count - 2 * depth + place + 1; ++turn) {
      bool const fused =
          turn > 0 || left > 0;  // at the turn itself the first pair is not overlapped: it comes too soon
      pair(0, 1, fused);
      pair(1, 0, true);
    }
    repeat(left, [&] {
      backward(1);
      pair(1, 0, true);
    });
    for (int turn = 0; turn < 2 * (place + 1); ++turn) {
      if (turn < place + 1)
        backward(1 - turn % 2);
      else
        input(1 - turn % 2);
    }
    // W in the order of their I: the split ones, then those of stream 0.
    for (int turn = 0; turn < left + split; ++turn) {
      weight(turn < split ? 1 - (place + 1 + turn) % 2 : 0);
      if (turn < left) input(0);
    }
  }

 private:
  template <class Step>
  static constexpr void repeat(int count, Step const& step) {
    for (int turn = 0; turn < count; ++turn) step();
  }
  constexpr void pass(op what, stream const& of, int index, std::uint8_t part = parts::whole) {
    put_(what, of.stage, of.first + index, of.copy, part);
  }
  constexpr void forward(int which, std::uint8_t part = parts::whole) {
    pass(op::forward, streams_[which], streams_[which].forwards++, part);
  }
  constexpr void backward(int which, std::uint8_t part = parts::whole) {
    pass(op::backward, streams_[which], streams_[which].backwards++, part);
    ++streams_[which].weights;
  }
  constexpr void input(int which) { pass(op::backward_input, streams_[which], streams_[which].backwards++); }
  constexpr void weight(int which) { pass(op::backward_weight, streams_[which], streams_[which].weights++); }
  constexpr void pair(int ahead, int back, bool fused) {
    forward(ahead, fused ? parts::fused_forward : parts::whole);
    backward(back, fused ? parts::fused_backward : parts::whole);
  }

  Writer& put_;
  stream streams_[2];
};

}  // namespace weft::inline v1::schedule::detail
