// ranks: 2 3 4
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

TEST_CASE("mpi data parallel: every way to share the ranks has the bits of a serial run with the same groups") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  for (int const data_ranks : {2, 3, 4}) {
    if (door.size() % data_ranks != 0) continue;
    for (std::string const reduction :
         {"ring", "recursive-doubling", "recursive-halving", "tree", "hierarchical:2", "hierarchical"}) {
      CAPTURE(data_ranks);
      CAPTURE(reduction);
      auto const serial = run({.micro_batches = 2, .gradient_groups = data_ranks, .reduction = reduction});
      outcome result;
      train(door,
            {.schedule = door.size() == data_ranks ? "serial" : "zb-h1",
             .micro_batches = 2,
             .data_ranks = data_ranks,
             .reduction = reduction},
            0, default_steps, result);
      CHECK(everywhere(door, result == serial));
    }
  }
}

TEST_CASE("mpi data parallel: the library's all-reduce is repeatable, and its replicas stay equal") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  int const data_ranks = door.size() == 3 ? 3 : 2;
  plan const how{.schedule = "1f1b", .micro_batches = 2, .data_ranks = data_ranks, .reduction = "mpi"};
  outcome first;
  outcome second;
  train(door, how, 0, default_steps, first);  // compares the replicas in every step
  train(door, how, 0, default_steps, second);
  auto const ours = run({.micro_batches = 2, .gradient_groups = data_ranks});
  CHECK(everywhere(door, first == second));
  CHECK(everywhere(door, door.rank() != 0 || std::abs(first.losses[0] - ours.losses[0]) < 1e-5 * ours.losses[0]));
}

TEST_CASE("mpi two copies: the bits of a serial run with a group for each copy") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  for (int const data_ranks : {1, 2}) {
    int const ranks = door.size() / data_ranks;
    if (door.size() % data_ranks != 0 || ranks % 2 != 0) continue;
    for (std::string const schedule : {"chimera", "dualpipe"}) {
      CAPTURE(data_ranks);
      CAPTURE(schedule);
      auto const serial = run({.micro_batches = ranks, .gradient_groups = 2 * data_ranks});
      outcome result;
      train(door, {.schedule = schedule, .micro_batches = 2 * ranks, .data_ranks = data_ranks}, 0, default_steps,
            result);
      CHECK(everywhere(door, result == serial));
    }
  }
}

TEST_CASE("mpi two copies: the library's all-reduce is repeatable, and its copies stay equal") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  if (door.size() % 2 != 0) return;
  plan const how{.schedule = "chimera", .micro_batches = door.size(), .reduction = "mpi"};
  outcome first;
  outcome second;
  train(door, how, 0, default_steps, first);  // compares the copies in every step
  train(door, how, 0, default_steps, second);
  CHECK(everywhere(door, first == second));
}
