// ranks: 2 3 4
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/guarded_memory.hpp"
#include "support/settle.hpp"
#include "unit/toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/mpi_device_support.hpp>
#include <weft/transport/staged.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using weft::transport::endpoint;
using weft::transport::request;

int worst(int value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

unsigned char pattern(std::size_t index, int rank) {
  return static_cast<unsigned char>((index * 2654435761U >> 13U) + static_cast<unsigned>(rank));
}

/// Every rank sends to the next and receives from the one before. True where the bytes are right and no more were
/// written.
template <class Door, class Open>
bool exchange(Door& door, void* sent, void* received, std::size_t bytes, Open&& open) {
  int const next = (door.rank() + 1) % door.size();
  int const before = (door.rank() + door.size() - 1) % door.size();
  {
    [[maybe_unused]] auto const kernel = open(sent);
    for (std::size_t index = 0; index < bytes; ++index)
      static_cast<unsigned char*>(sent)[index] = pattern(index, door.rank());
  }
  {
    [[maybe_unused]] auto const kernel = open(received);
    std::memset(received, 0xEE, bytes + 8);
  }
  char head[3] = {static_cast<char>(door.rank()), 2, 3};
  char got[3] = {};
  request send = door.send_parts({head, 3, sent, bytes}, next, 4);
  request receive = door.receive_parts({got, 3, received, bytes + 8}, before, 4);
  settle(door, receive, 120.0);
  bool is_right = door.received_bytes() == bytes + 3 && got[0] == before && got[2] == 3;
  settle(door, send, 120.0);
  [[maybe_unused]] auto const kernel = open(received);
  for (std::size_t index = 0; index < bytes + 8; ++index)
    is_right =
        is_right && static_cast<unsigned char*>(received)[index] == (index < bytes ? pattern(index, before) : 0xEE);
  return is_right;
}

constexpr std::size_t chunk = 16384;
std::vector<std::size_t> const sizes{0, 1, 4099, chunk - 1, chunk, chunk + 1, 10 * chunk, (std::size_t{1} << 22U) + 1};

}  // namespace

TEST_CASE("mpi staged: memory that kills who reads it travels, on one channel and on two") {
  int wrong = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    weft::transport::mpi second(MPI_COMM_WORLD);
    for (int const channels : {1, 2}) {
      weft::transport::staged_options options;
      if (channels == 2) options.channels = {&second};
      weft::transport::staged<chunk, weft_test::guarded_copies> door(world, {}, options);
      for (std::size_t const bytes : sizes) {
        void* const sent = weft_test::guarded_memory::allocate(bytes);
        void* const received = weft_test::guarded_memory::allocate(bytes + 8);
        wrong |=
            exchange(door, sent, received, bytes, [](void* data) { return weft_test::guarded_memory::opened(data); })
                ? 0
                : 1;
        weft_test::guarded_memory::free(sent);
        weft_test::guarded_memory::free(received);
      }
    }
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mpi staged: copies by Kokkos, and bodies handed over where they are") {
  int wrong = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    weft::transport::staged<chunk, weft::transport::kokkos_copies<>> staged(world);
    weft::transport::device_aware direct(world, toy::space::memory_space::name());
    for (std::size_t const bytes : sizes) {
      Kokkos::View<unsigned char*> sent("weft_test::sent", bytes);
      Kokkos::View<unsigned char*> received("weft_test::received", bytes + 8);
      auto const open = [](void*) { return 0; };
      wrong |= exchange(staged, sent.data(), received.data(), bytes, open) ? 0 : 1;
      wrong |= exchange(direct, sent.data(), received.data(), bytes, open) ? 0 : 2;
    }
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mpi staged: a peer that fails amid a message ends the others' waits") {
  int wrong = 0;
  {
    // Small chunks, which leave at once: MPI's own end does not bear a rendezvous that nobody will answer.
    constexpr std::size_t small = 1024;
    weft::transport::mpi world(MPI_COMM_WORLD);
    weft::transport::staged<small, weft::transport::host_copies> door(world);
    std::vector<char> body(100 * small);
    std::string message;
    if (door.rank() == 1) {
      request posted = door.receive_parts({nullptr, 0, body.data(), body.size()}, 0, 6);
      for (int turn = 0; turn < 100; ++turn) static_cast<void>(door.test(posted));
      door.announce_failure("rank 1 was pulled");
      static_cast<void>(door.abandon(posted));
    } else {
      request posted = door.rank() == 0 ? door.send_parts({nullptr, 0, body.data(), body.size()}, 1, 6)
                                        : door.receive_parts({nullptr, 0, body.data(), body.size()}, 1, 6);
      try {
        settle(door, posted, 20.0);
        // All chunks may have left before the failure was heard of; a later look finds it.
        weft::transport::wait_until(
            door, 20.0, [] { return false; }, [](double) { throw weft::error("test: nobody told of the failure"); },
            [] {});
      } catch (weft::error const& failure) {
        message = failure.what();
      }
      static_cast<void>(door.abandon(posted));
      wrong = message == "rank 1 was pulled" ? 0 : 1;
    }
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mpi staged: a pipeline with one edge staged on two channels and the others measured has the direct bits") {
  int differ = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    weft::transport::mpi second(MPI_COMM_WORLD);
    int const ranks = world.size();
    auto const lowered =
        weft::schedule::lower(weft::schedule::write_table<weft::schedule::zero_bubble_h1>(ranks, 5).view(),
                              {.tied = weft::schedule::tied_stages::none, .optimizer = false});
    auto const train = [&](endpoint& door) {
      toy::stage stage(ranks, 5);
      stage.width = 4001;
      weft::pipeline<toy::stage, toy::space> engine(lowered.view(), door, stage);
      for (int step = 0; step < 5; ++step) engine.step();
      stage.weight_gradient.insert(stage.weight_gradient.end(), stage.losses.begin(), stage.losses.end());
      return stage.weight_gradient;
    };
    auto const direct = train(world);
    // The edge between ranks 0 and 1 alone.
    int const other = world.rank() < 2 ? 1 - world.rank() : world.rank();
    weft::transport::staged_options const options{{other}, {&second}};
    weft::transport::staged<1024, weft::transport::kokkos_copies<>> one_edge(world, {}, options);
    differ |= train(world.rank() < 2 ? static_cast<endpoint&>(one_edge) : world) == direct ? 0 : 1;

    weft::transport::staged<1024, weft::transport::kokkos_copies<>> staged(world);
    weft::transport::device_aware aware(world, toy::space::memory_space::name());
    std::vector<weft::transport::way> const ways{{"staged", &staged}, {"direct", &aware}};
    std::vector<char> body(1 << 17);
    auto const table =
        weft::transport::measure_links(world, ways, toy::space::memory_space::name(), body.data(), body.size());
    weft::transport::automatic chooses(world, toy::space::memory_space::name(), ways, table);
    differ |= train(chooses) == direct ? 0 : 2;
  }
  CHECK(worst(differ) == 0);
}

TEST_CASE("mpi device support: this build's MPI is asked, and no rank is left alone with its answer") {
  int wrong = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    auto const own = weft::transport::ask_mpi_for_device(weft::vendor::cuda);
    wrong |= weft::transport::ask_mpi_for_device(weft::vendor::host) == weft::transport::device_answer::yes ? 0 : 1;
    // Host memory stands in for the device's: every MPI takes it.
    std::vector<char> memory(2 * weft::transport::device_test_bytes);
    weft::transport::host_copies copies;
    auto const found =
        weft::transport::find_device_support(world, weft::transport::device_answer::yes, own, copies, memory.data());
    for (bool const each : found.by_rank) wrong |= each ? 0 : 1;
    wrong |= found.text().find("the options say yes, and a large message came through") != std::string::npos ? 0 : 1;
  }
  CHECK(worst(wrong) == 0);
}
