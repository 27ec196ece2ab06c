// ranks: 2 3
// timeout: 300
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "unit/toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/mpi.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>

namespace {

constexpr int micro_batches = 3;

weft::schedule::program make(char const* name, int ranks) {
  return weft::schedule::make_program(name, ranks, micro_batches,
                                      {.tied = weft::schedule::tied_stages::none, .optimizer = false});
}

int worst(int value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

}  // namespace

TEST_CASE("mpi faults: an exception on any rank at any pass ends every rank's step with that rank's message") {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (char const* const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (int failing = 0; failing < ranks; ++failing)
      for (int pass = 0; pass < 3 * micro_batches; ++pass) {  // F, I and W of each
        int without_words = 0;
        auto const begin = std::chrono::steady_clock::now();
        {
          weft::transport::mpi door(MPI_COMM_WORLD);
          toy::stage stage(ranks, micro_batches);
          int passes = 0;
          stage.probe = [&](char, toy::context const&) {
            if (door.rank() == failing && passes++ == pass)
              throw std::runtime_error("injected on rank " + std::to_string(failing));
          };
          weft::pipeline<toy::stage, toy::space> engine(make(schedule, ranks).view(), door, stage);
          std::string message;
          try {
            engine.step();
            engine.step();  // who had nothing left to wait for learns of it at the next wait
          } catch (weft::error const& failure) {
            message = failure.what();
          }
          without_words = message.find("injected on rank " + std::to_string(failing)) == std::string::npos ? 1 : 0;
        }
        auto const took = std::chrono::steady_clock::now() - begin;
        int const wrong = worst(without_words);
        int const slow = worst(took > std::chrono::seconds(10) ? 1 : 0);
        CAPTURE(failing);
        CAPTURE(pass);
        CHECK(wrong == 0);
        CHECK(slow == 0);
      }
}

TEST_CASE("mpi faults: a rank that never comes is named when the deadline passes, and MPI goes on") {
  int missing = 0;
  {
    weft::transport::mpi door(MPI_COMM_WORLD);
    toy::stage stage(door.size(), micro_batches);
    weft::pipeline<toy::stage, toy::space> engine(make("1f1b", door.size()).view(), door, stage, {.deadline = 0.5});
    std::string message;
    if (door.rank() != 0) {
      try {
        engine.step();
      } catch (weft::error const& failure) {
        message = failure.what();
      }
    }
    // Whichever wait runs out first: every rank tells what each of them waited for.
    for (int rank = 1; rank < door.size() && door.rank() != 0; ++rank)
      if (message.find("\n  rank " + std::to_string(rank) + " waited ") == std::string::npos ||
          message.find("for activations from rank " + std::to_string(rank - 1)) == std::string::npos)
        missing = 1;
    if (door.rank() != 0 && message.find("rank 0 holds up the others: it does not answer") == std::string::npos)
      missing = 1;
  }
  CHECK(worst(missing) == 0);
}

TEST_CASE("mpi faults: a rank that is in a long pass and says so is named with what it computes, by every rank") {
  int wrong = 0;
  {
    weft::transport::mpi door(MPI_COMM_WORLD);
    toy::stage stage(door.size(), micro_batches);
    int const last = door.size() - 1;
    stage.probe = [&](char what, toy::context const& where) {
      if (door.rank() == last && what == 'F' && where.micro_batch() == 1)
        for (;;) where.progress();
    };
    weft::pipeline<toy::stage, toy::space> engine(make("zb-h1", door.size()).view(), door, stage, {.deadline = 0.5});
    std::string message;
    try {
      engine.step();
    } catch (weft::error const& failure) {
      message = failure.what();
    }
    std::string const computes = "rank " + std::to_string(last) + " computes F of stage " + std::to_string(last);
    bool const is_told = message.find("\n  " + computes) != std::string::npos;
    bool const is_named = message.find("holds up the others: " + computes) != std::string::npos;
    wrong = is_told && is_named == (door.rank() != last) ? 0 : 1;
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mpi engine: equal bits with threads, in steps that follow each other without a barrier") {
  auto const gradients = [](weft::transport::endpoint& door, char const* schedule) {
    toy::stage stage(door.size(), micro_batches);
    weft::pipeline<toy::stage, toy::space> engine(make(schedule, door.size()).view(), door, stage);
    for (int step = 0; step < 50; ++step) engine.step();
    std::vector<double> all = stage.weight_gradient;  // zero where another rank owns the layer
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  };
  weft::transport::mpi door(MPI_COMM_WORLD);
  weft::transport::mpi alone(MPI_COMM_SELF);
  toy::stage whole(1, micro_batches);
  weft::pipeline<toy::stage, toy::space> serial(make("serial", 1).view(), alone, whole);
  for (int step = 0; step < 50; ++step) serial.step();
  for (char const* const schedule : {"gpipe", "1f1b", "zb-h1"}) {
    int const differ = worst(gradients(door, schedule) == whole.weight_gradient ? 0 : 1);
    CHECK(differ == 0);
  }
}
