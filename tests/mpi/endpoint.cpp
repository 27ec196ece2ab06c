// ranks: 2 3
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/settle.hpp"

#include <weft/error.hpp>
#include <weft/execution/device.hpp>
#include <weft/topology/vendor.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/run_collective.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using weft::transport::request;

namespace {

unsigned char pattern(std::size_t index, int rank) {
  return static_cast<unsigned char>((index * 2654435761U >> 13U) + static_cast<unsigned>(rank));
}

/// Both of ranks 0 and 1 send first and receive afterwards: only non-blocking posts survive that at any size.
bool exchange(weft::transport::endpoint& door, std::size_t bytes) {
  bool is_right = true;
  if (door.rank() < 2) {
    int const peer = 1 - door.rank();
    std::vector<unsigned char> sent(bytes);
    std::vector<unsigned char> received(bytes, 0xEE);
    std::size_t const stride = bytes < 100000 ? 1 : 4093;
    for (std::size_t index = 0; index < bytes; index += stride) sent[index] = pattern(index, door.rank());
    request send = door.send(sent.data(), bytes, peer, 7);
    request receive = door.receive(received.data(), bytes, peer, 7);
    settle(door, receive, 120.0);
    is_right = door.received_bytes() == bytes;
    settle(door, send, 120.0);
    for (std::size_t index = 0; index < bytes && is_right; index += stride)
      is_right = received[index] == pattern(index, peer);
  }
  int wrong = is_right ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return wrong == 0;
}

}  // namespace

TEST_CASE("mpi: a rank finds its place on its node, among those with devices of its own vendor") {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  using weft::vendor;
  auto const found = weft::detail::place_on_node(MPI_COMM_WORLD, rank % 2 == 0 ? vendor::cuda : vendor::hip);
  auto const alone = weft::detail::place_on_node(MPI_COMM_WORLD, vendor::host);
  int const alike = rank % 2 == 0 ? (size + 1) / 2 : size / 2;
  CHECK(found == weft::execution::node_place{.number = rank / 2, .alike = alike, .ranks = size});
  CHECK(alone == weft::execution::node_place{.number = rank, .alike = size, .ranks = size});
}

TEST_CASE("mpi endpoint: messages from nothing to beyond 2 GiB, both sides sending first") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  for (std::size_t const bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{65536}, std::size_t{1} << 20U,
        (std::size_t{1} << 26U) + 3, (std::size_t{1} << 31U) + 12345}) {
    CAPTURE(bytes);
    CHECK(exchange(door, bytes));
  }
}

TEST_CASE("mpi endpoint: a failure that one rank announces reaches every other one, with pending messages about") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  std::string message;
  char byte = 0;
  if (door.rank() == 1) {
    door.announce_failure("rank 1 has had enough");
  } else {
    request never = door.receive(&byte, 1, 1, 3);
    try {
      settle(door, never, 20.0);
    } catch (weft::remote_error const& failure) {
      message = failure.what();
    }
    static_cast<void>(door.abandon(never));
    CHECK(message == "rank 1 has had enough");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("mpi endpoint: a message that is too long is an error and leaves MPI usable") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  // what weft::environment does where weft owns MPI
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  std::string message;
  std::vector<char> data(64);
  if (door.rank() == 0) {
    request send = door.send(data.data(), 64, 1, 9);
    settle(door, send, 20.0);
  } else if (door.rank() == 1) {
    request receive = door.receive(data.data(), 8, 0, 9);
    try {
      settle(door, receive, 20.0);
    } catch (weft::error const& failure) {
      message = failure.what();
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (door.rank() == 1) CHECK(message.find("weft::transport::mpi: MPI_Test failed on rank 1") != std::string::npos);
}
