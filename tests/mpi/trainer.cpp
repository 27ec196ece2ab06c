// ranks: 1 2 3 4
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/tiny_training.hpp"

#include <weft/transport/mpi.hpp>
#include <weft/transport/run_collective.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tiny_training;

namespace {

/// True on every rank if it is on rank 0: collectives first, assertions after.
bool everywhere(weft::transport::endpoint& door, bool on_root) {
  int value = on_root ? 1 : 0;
  weft::transport::broadcast(door, &value, sizeof value, 0);
  return value == 1;
}

}  // namespace

TEST_CASE_TEMPLATE("mpi trainer: the bits of the serial run, whatever the schedule, with recompute and evaluation",
                   Model, tiny, tiny_llama) {
  weft::transport::mpi door(MPI_COMM_WORLD);
  auto const serial = run<Model>({});
  for (std::string const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (bool const recompute : {false, true})
      for (int const evaluate_every : {0, 1}) {
        CAPTURE(schedule);
        CAPTURE(recompute);
        outcome result;
        train<Model>(door, {.schedule = schedule, .recompute = recompute, .evaluate_every = evaluate_every}, 0,
                     default_steps, result);
        CHECK(everywhere(door, result == serial));
      }
}

TEST_CASE("mpi trainer: fewer micro-batches than ranks, and one sequence each") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  for (int const micro_batches : {1, 2, 7}) {
    auto const serial = run({.micro_batches = micro_batches});
    for (std::string const schedule : {"1f1b", "zb-h1"}) {
      CAPTURE(schedule);
      outcome result;
      train(door, {.schedule = schedule, .micro_batches = micro_batches}, 0, default_steps, result);
      CHECK(everywhere(door, result == serial));
    }
  }
}

TEST_CASE("mpi trainer: a state saved by threads is resumed over MPI, and the other way round") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  auto const serial = run({});
  outcome result = run({.schedule = "gpipe", .ranks = 3}, 2);
  train(door, {.schedule = "1f1b"}, 2, default_steps, result);
  CHECK(everywhere(door, result == serial));
}
