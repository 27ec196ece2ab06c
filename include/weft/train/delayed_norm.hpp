// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/collective/recursive_doubling.hpp>
#include <weft/config.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_all_reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::inline v1::train {

/// The global norm of a step's gradient where ranks come to the step one after the other: each adds its squares when it
/// is there, and learns the sum `delay` steps later, when all have been. Sums run beside the pipeline, one per step
/// that is not yet taken.
///
/// A place of the sum belongs to one rank, and the others add zeros, so that no order of additions can change it; the
/// places are then added in order, on every rank alike.
class delayed_norm {
 public:
  /// Does not communicate. `places` is the same on all ranks.
  delayed_norm(transport::endpoint& door, std::size_t places, int delay, double deadline)
      : places_(places),
        delay_(delay),
        deadline_(deadline) {
    collective::all_reduce_choice const how(collective::recursive_doubling::name);
    for (int each = 0; each <= delay; ++each) {
      slots_.push_back({std::make_unique<double[]>(places),
                        std::make_unique<transport::running_all_reduce<double>>(
                            door, how, static_cast<std::int64_t>(places), schedule::running_tag(each))});
    }
  }
  delayed_norm(delayed_norm const&) = delete;
  delayed_norm& operator=(delayed_norm const&) = delete;
  ~delayed_norm() {
    for (auto& each : slots_)  // after a failure the transport may go on reading
      if (each.is_running && !each.run->give_up()) static_cast<void>(each.squares.release());
  }

  /// Begins the sum of a step; `own`: this rank's squares, zero in the others' places. Every step in turn, and that of
  /// `delay + 1` steps before must have been taken. Communicates, and does not wait.
  void start(std::int64_t step, std::vector<double> const& own) {
    slot& each = at(step);
    std::copy(own.begin(), own.end(), each.squares.get());
    each.is_running = true;
    each.run->start(each.squares.get());
  }

  /// The norm of a step. Waits for the ranks that have not come to it; `on_turn()` is called meanwhile.
  template <class OnTurn>
  double take(std::int64_t step, OnTurn&& on_turn) {
    slot& each = at(step);
    if (!each.is_running) return each.norm;
    each.run->wait(deadline_, [&] {
      advance();
      on_turn();
    });
    finish(each);
    return each.norm;
  }

  /// Moves the messages of all sums under way. Does not block.
  void advance() {
    for (slot& each : slots_)
      if (each.is_running && each.run->advance()) finish(each);
  }

  /// Puts back what an earlier run took with it (see asynchronous_state.hpp).
  void restore(std::int64_t step, double norm) { at(step).norm = norm; }

  [[nodiscard]] int delay() const { return delay_; }

 private:
  struct slot {
    std::unique_ptr<double[]> squares;
    std::unique_ptr<transport::running_all_reduce<double>> run;
    bool is_running = false;
    double norm = 0.0;
  };

  [[nodiscard]] slot& at(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }

  void finish(slot& each) const {
    each.is_running = false;
    double sum = 0.0;
    for (std::size_t place = 0; place < places_; ++place) sum += each.squares[place];
    each.norm = std::sqrt(sum);
  }

  std::size_t places_;
  int delay_;
  double deadline_;
  std::vector<slot> slots_;
};

}  // namespace weft::inline v1::train
