// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/settle.hpp"

#include <weft/transport/agreement.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using weft::transport::endpoint;
using weft::transport::in_process;

TEST_CASE("collectives: all_gather, broadcast and all_reduce on 1 to 7 ranks, sizes that do not divide, and nothing") {
  for (int ranks = 1; ranks <= 7; ++ranks)
    for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
      in_process::run(ranks, [&](endpoint& door) {
        double const mine = 10.0 + door.rank();
        std::vector<double> all(static_cast<std::size_t>(ranks), -1.0);
        weft::transport::all_gather(door, &mine, sizeof mine, all.data());
        for (int rank = 0; rank < ranks; ++rank)
          if (all[static_cast<std::size_t>(rank)] != 10.0 + rank) throw weft::error("all_gather");
        for (int root = 0; root < ranks; ++root) {
          std::vector<int> data(count, door.rank() == root ? 7 + root : -1);
          weft::transport::broadcast(door, data.data(), count * sizeof(int), root);
          for (int const each : data)
            if (each != 7 + root) throw weft::error("broadcast");
        }
        std::vector<double> sums(count);
        for (std::size_t index = 0; index < count; ++index)
          sums[index] = (door.rank() + 1.0) * static_cast<double>(index);
        weft::transport::all_reduce_sum(door, sums.data(), count);
        for (std::size_t index = 0; index < count; ++index)
          if (sums[index] != ranks * (ranks + 1) / 2.0 * static_cast<double>(index)) throw weft::error("all_reduce");
      });
    }
  CHECK(true);  // in_process::run rethrows
}

TEST_CASE("all_or_none: one rank's problem is every rank's, with its number") {
  for (int const failing : {0, 2}) {
    std::vector<std::string> messages(3);
    CHECK_THROWS_WITH_AS(in_process::run(3,
                                         [&](endpoint& door) {
                                           try {
                                             weft::transport::all_or_none(door, [&] {
                                               if (door.rank() == failing) throw weft::error("no such file");
                                             });
                                           } catch (weft::agreed_error const& failure) {
                                             messages[static_cast<std::size_t>(door.rank())] = failure.what();
                                             throw;
                                           }
                                         }),
                         ("no such file (on rank " + std::to_string(failing) + ")").c_str(), weft::agreed_error);
    CHECK(messages[0] == messages[1]);
    CHECK(messages[1] == messages[2]);
  }
  CHECK_THROWS_WITH_AS(
      in_process::run(
          2, [](endpoint& door) { weft::transport::all_or_none(door, [] { throw weft::error("everywhere"); }); }),
      "everywhere", weft::agreed_error);
}

TEST_CASE("require_agreement: names the fact, the ranks and both values") {
  auto agree = [](int ranks, int odd) {
    in_process::run(ranks, [&](endpoint& door) {
      weft::transport::facts mine;
      mine.add("model", "nano");
      mine.add("schedule", door.rank() == odd ? "gpipe" : "1f1b");
      weft::transport::require_agreement(door, mine);
    });
  };
  CHECK_NOTHROW(agree(4, -1));
  CHECK_THROWS_WITH_AS(agree(4, 2), doctest::Contains("schedule is \"1f1b\" on rank 0 and \"gpipe\" on rank 2"),
                       weft::agreed_error);
}

TEST_CASE("a collective has a deadline") {
  CHECK_THROWS_WITH_AS(in_process::run(2,
                                       [](endpoint& door) {
                                         double value = 0.0;
                                         if (door.rank() == 0) weft::transport::all_reduce_sum(door, &value, 1, 0.2);
                                       }),
                       doctest::Contains("all_reduce: rank 0 waited"), weft::error);
}

TEST_CASE("in_process: tags keep messages of one pair apart, order within a tag is kept, sizes are checked") {
  in_process::run(2, [](endpoint& door) {
    std::vector<int> values(4, -1);
    if (door.rank() == 0) {
      int const sent[4] = {1, 2, 3, 4};
      weft::transport::request posts[4] = {
          door.send(&sent[0], sizeof(int), 1, 5), door.send(&sent[1], sizeof(int), 1, 6),
          door.send(&sent[2], sizeof(int), 1, 5), door.send(&sent[3], sizeof(int), 1, 6)};
      for (auto& each : posts) settle(door, each, 10.0);
    } else {
      weft::transport::request posts[4] = {
          door.receive(&values[0], sizeof(int), 0, 6), door.receive(&values[1], sizeof(int), 0, 6),
          door.receive(&values[2], sizeof(int), 0, 5), door.receive(&values[3], sizeof(int), 0, 5)};
      for (auto& each : posts) settle(door, each, 10.0);
      if (values != std::vector<int>{2, 4, 1, 3}) throw weft::error("order");
    }
  });
  CHECK_THROWS_WITH_AS(in_process::run(2,
                                       [](endpoint& door) {
                                         std::vector<char> data(16);
                                         auto post = door.rank() == 0 ? door.send(data.data(), 16, 1, 0)
                                                                      : door.receive(data.data(), 8, 0, 0);
                                         settle(door, post, 10.0);
                                       }),
                       doctest::Contains("received 16 bytes from rank 0 where it expected at most 8"), weft::error);
  CHECK_THROWS_WITH_AS(in_process::run(1, [](endpoint& door) { static_cast<void>(door.send(nullptr, 0, 3, 0)); }),
                       doctest::Contains("there is no rank 3 among 1 ranks"), weft::error);
  CHECK_THROWS_WITH_AS(in_process(0), doctest::Contains("ask for at least 1"), weft::error);
}

TEST_CASE("collectives: a rank that fails in the midst leaves no message behind, and sizes are compared") {
  for (int failing = 0; failing < 3; ++failing)
    CHECK_THROWS_WITH_AS(in_process::run(3,
                                         [&](endpoint& door) {
                                           std::vector<double> values(1000, 1.0);
                                           for (int round = 0; round < 10; ++round) {
                                             if (door.rank() == failing && round == 7) throw weft::error("enough");
                                             weft::transport::all_reduce_sum(door, values.data(), values.size());
                                           }
                                         }),
                         "enough", weft::error);
  CHECK_THROWS_WITH_AS(in_process::run(2,
                                       [](endpoint& door) {
                                         std::vector<char> values(64);
                                         weft::transport::broadcast(door, values.data(), door.rank() == 0 ? 16 : 32, 0);
                                       }),
                       doctest::Contains("broadcast: rank 1 received 16 bytes from rank 0 where 32 are right"),
                       weft::error);
}

TEST_CASE("guarded: what one rank throws, the others hear while they wait") {
  for (bool const is_standard : {true, false}) {
    std::string heard;
    CHECK_THROWS(in_process::run(2, [&](endpoint& door) {
      try {
        weft::transport::guarded(door, [&] {
          double value = 0.0;
          if (door.rank() == 0 && is_standard) throw std::runtime_error("no memory");
          if (door.rank() == 0) throw 7;
          weft::transport::all_reduce_sum(door, &value, 1, 20.0);
        });
      } catch (weft::remote_error const& failure) {
        heard = failure.what();
        throw;
      }
    }));
    CHECK(heard == (is_standard ? "rank 0: no memory" : "rank 0: an exception that is no std::exception"));
  }
}

TEST_CASE("in_process: an exception is rethrown though the rank that failed first kept its own") {
  CHECK_THROWS_WITH(in_process::run(2,
                                    [](endpoint& door) {
                                      if (door.rank() == 0) {
                                        door.announce_failure("quiet");
                                        return;
                                      }
                                      for (;;) {
                                        door.check_failure();
                                        door.yield();
                                      }
                                    }),
                    "quiet");
}
