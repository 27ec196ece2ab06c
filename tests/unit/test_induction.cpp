// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/induction.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>

#include <string>

using namespace weft::schedule;

namespace {

/// 1F1B with one thing wrong in every body, or from some count on.
enum class fault { none, deadlocks, keeps_one_more, walks_backwards, grows_late };

template <fault What>
struct broken : one_f_one_b {
  static constexpr char const* name = "broken";

  static constexpr repetition repeats(int ranks, int /*micro_batches*/) { return {ranks > 1 ? ranks - 1 : 1, 1}; }

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    int warm = warm_up(rank, ranks, micro_batches);
    if (What == fault::keeps_one_more) {  // the warm-up grows with the number of micro-batches: GPipe in disguise
      warm += (micro_batches - warm) / 2;
    }
    if (What == fault::grows_late && micro_batches >= 9) warm = warm < micro_batches ? warm + 1 : warm;
    if (What == fault::deadlocks && rank >= 2 && micro_batches > 2) {
      // From the second pair on rank 2 waits for the backward before it sends the next forward, and rank 3 for that
      // forward before it begins the backward.
      write_deadlock(rank, micro_batches, put);
      return;
    }
    for (int micro_batch = 0; micro_batch < warm; ++micro_batch) put(op::forward, rank, micro_batch);
    for (int pair = 0; pair < micro_batches - warm; ++pair) {
      put(op::forward, rank, warm + pair);
      put(op::backward, rank, pair);
    }
    for (int micro_batch = micro_batches - warm; micro_batch < micro_batches; ++micro_batch)
      put(op::backward, rank,
          What == fault::walks_backwards ? 2 * micro_batches - warm - 1 - micro_batch : micro_batch);
  }

  template <class Writer>
  static constexpr void write_deadlock(int rank, int micro_batches, Writer& put) {
    put(op::forward, rank, 0);
    if (rank == 2) put(op::forward, rank, 1);
    put(op::backward, rank, 0);
    if (rank == 3) put(op::forward, rank, 1);
    for (int micro_batch = 1; micro_batch < micro_batches; ++micro_batch) {
      if (rank == 2) put(op::backward, rank, micro_batch);
      if (micro_batch + 1 < micro_batches) put(op::forward, rank, micro_batch + 1);
      if (rank == 3) put(op::backward, rank, micro_batch);
    }
  }
};

/// The answer for the smallest count that has a cut; `micro_batches` chooses the residue.
template <class Policy>
induction first_proof(int ranks, int micro_batches, lower_options const& options = {}, Policy const& policy = {}) {
  repetition const how = repetition_of(policy, ranks, micro_batches);
  induction last;
  for (int tried = 0; tried < 8 && how.repeats(); ++tried) {
    last = induce(ranks, how.base_of(micro_batches) + tried * how.step, options, policy);
    if (last.holds()) break;
  }
  return last;
}

/// Every figure of the verdict that a larger count shares with the count that proves it, for every count up to 64 that
/// repeats with `step`: a multiple of `unit`.
template <class Policy>
void equals_direct_play(lower_options const& options = {}, Policy const& policy = {}) {
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    if (!policy.check(ranks, 120).legal()) continue;
    CAPTURE(policy.name);
    CAPTURE(ranks);
    repetition const how = policy.repeats(ranks, 120);
    auto const proof = first_proof(ranks, 120, options, policy);
    REQUIRE(proof.holds());
    CHECK(proof.micro_batches <= how.base_of(120) + how.step * (options.send_slots + options.receive_ahead + 2));
    auto const sample = lower(write_table(ranks, proof.micro_batches, policy).view(), options);
    for (int count = how.step; count <= 64; count += how.step) {
      CAPTURE(count);
      if (!policy.check(ranks, count).legal()) continue;
      auto const table = write_table(ranks, count, policy);
      verdict direct;
      auto const lowered = lower(table.view(), options, &direct);
      CHECK(direct.playable());  // those below are played directly, as a plan does
      if (count < proof.micro_batches) continue;
      auto const induced = proof.of(count);
      CHECK(induced.playable());
      CHECK(induced.actions == direct.actions);
      CHECK(induced.peak_activations == direct.peak_activations);
      CHECK(induced.peak_in_flight == direct.peak_in_flight);
      CHECK(induced.peak_weight_contexts == direct.peak_weight_contexts);
      CHECK(induced.largest_tag == direct.largest_tag);
      CHECK(induced.order == direct.order);
      // The same slots, so that memory is known too.
      for (int stage = 0; stage < lowered.view().stages(); ++stage) {
        slot_counts const& mine = lowered.view().slots[stage];
        slot_counts const& its = sample.view().slots[stage];
        CHECK(mine.activation == its.activation);
        CHECK(mine.weight_context == its.weight_context);
        CHECK(mine.receive_forward == its.receive_forward);
        CHECK(mine.send_forward == its.send_forward);
        CHECK(mine.receive_backward == its.receive_backward);
        CHECK(mine.send_backward == its.send_backward);
      }
    }
  }
}

}  // namespace

TEST_CASE("induction gives the answer of direct play for every count up to 64") {
  equals_direct_play<serial>();
  equals_direct_play<forward_only>();
  equals_direct_play<one_f_one_b>();
  equals_direct_play<zero_bubble_h1>();
}

TEST_CASE("induction: schedules with several stages on a rank, and more of them in flight") {
  equals_direct_play<eager_1f1b>();
  equals_direct_play<zero_bubble_h2>();
  equals_direct_play<zero_bubble_v>();
  equals_direct_play<dual_pipe_v>();
  for (int chunks : {1, 2, 3}) {
    equals_direct_play<interleaved_1f1b_values>({}, {.chunks = chunks, .group = 0});
    equals_direct_play<interleaved_zero_bubble_values>({}, {.chunks = chunks, .group = 0});
  }
}

TEST_CASE("induction: with recompute, over the data axis, and with one or four send slots") {
  for (lower_options const& options : {lower_options{.recompute = true}, lower_options{.reduce_over_data = true},
                                       lower_options{.send_slots = 1}, lower_options{.send_slots = 4}}) {
    equals_direct_play<one_f_one_b>(options, {});
    equals_direct_play<zero_bubble_h1>(options, {});
  }
}

TEST_CASE("induction: a policy that does not repeat says so") {
  CHECK(induce<gpipe>(4, 16, {}).fault == induction_fault::does_not_repeat);
  CHECK_FALSE(induce<gpipe>(4, 16, {}).holds());
}

TEST_CASE("induction: a broken body is found") {
  CHECK(first_proof<broken<fault::none>>(4, 16).holds());
  // Rows that repeat, but deadlock in the body.
  auto const stuck = first_proof<broken<fault::deadlocks>>(4, 16);
  CHECK(stuck.fault == induction_fault::not_playable);
  CHECK(stuck.found.what == defect::deadlock);
  CHECK(stuck.found.rank == 2);
  CHECK(stuck.found.owed_micro_batch == 2);
  // Rows that do not grow by one body.
  CHECK(first_proof<broken<fault::keeps_one_more>>(4, 16).fault == induction_fault::rows_differ);
  CHECK_THROWS_WITH_AS(
      (write_table<broken<fault::keeps_one_more>>(4, 16)),
      "weft::schedule::broken: repeats() says that rows repeat, but at 3 micro-batches the row of rank 0 does not grow "
      "by one body; correct repeats(), or remove it",
      weft::error);
  // Rows that grow so at first, and otherwise later: found when the program starts.
  CHECK(first_proof<broken<fault::grows_late>>(4, 16).holds());
  CHECK_THROWS_AS((write_table<broken<fault::grows_late>>(4, 16)), weft::error);
}

TEST_CASE("induction: gradients that are added up in another order in the cool-down stay so") {
  auto const proof = first_proof<broken<fault::walks_backwards>>(4, 16);
  REQUIRE(proof.holds());
  CHECK(proof.found.order == accumulation::mixed);
  CHECK(play(write_table<broken<fault::walks_backwards>>(4, 30).view()).order == accumulation::mixed);
}
