// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "every_schedule.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/train/post_validation.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace weft::schedule;
using weft::transport::endpoint;
using weft::transport::in_process;

namespace {

/// Writes into every message in which turn it was made and whether before or after a redo, and refuses all others: a
/// message that was sent in front of VALIDATE must never be taken for the one that replaces it.
class stamping_stage {
 public:
  using views = weft::boundary_views<Kokkos::HostSpace>;

  explicit stamping_stage(endpoint& door) : validation_(door, 3, 30.0) {}

  void begin() {
    is_redone_ = false;
    if (!is_open_) validation_.begin();
  }
  void end() {
    if (is_open_) static_cast<void>(validation_.hear([] {}));
    validation_.finish([] {});
  }
  void next_turn() { ++turn_; }

  template <class Context>
  void forward(Context& where, views const& in, views& out) {
    read(where, in);
    write(out);
    ++passes;
  }
  template <class Context>
  void backward_input(Context& where, views const&, views const& gradient_out, views& gradient_in) {
    read(where, gradient_out);
    write(gradient_in);
  }
  template <class Context>
  void backward_weight(Context&, views const&, views const&) {}
  static void reduce_gradient(int, int) {}
  static void step(int) {}
  static weft::boundary boundary(weft::topology::edge const&) { return weft::boundary().add(weft::scalar::i32, 1); }
  static void prepare(int, slot_counts const&) {}

  void partial_norm() {
    auto& sums = validation_.collect([] {});
    sums[0] += 1.0;
    if (validation_.is_last())
      validation_.tell({.norm = sums[0], .redo = 1.0}, [] {});
    else
      validation_.pass_on();
    is_open_ = true;
  }
  bool validate() {
    if (!is_open_) return false;
    is_open_ = false;
    auto const whole = validation_.hear([] {});
    validation_.begin();
    is_redone_ = true;
    ++redos;
    ranks = static_cast<int>(whole.norm);
    return whole.redo > 0.0;
  }

  int passes = 0;
  int redos = 0;
  int ranks = 0;  ///< as the last rank has counted them

 private:
  [[nodiscard]] std::int32_t stamp() const { return 2 * turn_ + (is_redone_ ? 1 : 0); }

  template <class Context>
  void read(Context& where, views const& in) const {
    for (int edge = 0; edge < in.size(); ++edge)
      if (auto const found = in[edge].template view<std::int32_t>(0)(0); found != stamp())
        throw weft::error("stage " + std::to_string(where.stage()) + ", micro-batch " +
                          std::to_string(where.micro_batch()) + ": a message of " + std::to_string(found) + " at " +
                          std::to_string(stamp()));
  }
  void write(views& out) const {
    for (int edge = 0; edge < out.size(); ++edge) out[edge].template view<std::int32_t>(0)(0) = stamp();
  }

  weft::train::post_validation validation_;
  int turn_ = 0;
  bool is_redone_ = false;
  bool is_open_ = false;
};

/// Three turns, of which all but the first begin anew at VALIDATE. Messages complete only once they are received.
void play_with_redos(program_view const& program) {
  in_process::run(program.ranks(), [&](endpoint& door) {
    stamping_stage stage(door);
    weft::pipeline<stamping_stage, Kokkos::DefaultHostExecutionSpace> engine(program, door, stage, {.deadline = 30.0});
    for (int turn = 0; turn < 3; ++turn) {
      stage.begin();
      engine.step();
      stage.next_turn();
    }
    stage.end();
    CHECK(stage.redos == 2);
    CHECK(stage.ranks == program.ranks());
    int forwards = 0;
    int again = 0;
    bool is_before = true;
    for (action const& each : program.row(door.rank())) {
      is_before = is_before && each.what != op::validate;
      bool const is_forward = each.what == op::forward || each.what == op::recompute;
      forwards += is_forward;
      again += is_forward && is_before;
    }
    CHECK(stage.passes == 3 * forwards + 2 * again);
  });
}

}  // namespace

TEST_CASE("redo: under every schedule, every message after VALIDATE is one that was made after it") {
  int taken_in = 0;  // ranks that have to receive, at VALIDATE, what their row would receive later
  int const cases = every_schedule::for_all(4, 6, [&](auto const& at, program_view const& table) {
    if (!table.work.backward || table.work.asynchronous || table.ranks() < 2) return;
    INFO(at.text());
    for (bool const is_early : {true, false}) {
      lower_options options{.recompute = table.micro_batches == 4, .norm = norm_kind::post_validated};
      if (!is_early) options.receives = receive_time::at_use;
      if (table.micro_batches == 2) options.send_slots = 1;
      auto const made = lower(table, options);
      for (int rank = 0; rank < table.ranks(); ++rank)
        taken_in += !weft::compile_row(made.view(), rank).sent_early.empty();
      play_with_redos(made.view());
    }
  });
  CHECK(cases > 200);
  CHECK(taken_in > (weft_test::is_sanitized ? 10 : 100));
}
