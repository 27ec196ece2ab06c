// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_reduce_checks.hpp"
#include "support/settle.hpp"

#include <weft/transport/guarded.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/posted.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/subgroup.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using weft::collective::all_reduce_choice;
using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::make_subgroup;

TEST_CASE("subgroup: the rows and columns of a mesh, at once") {
  for (int const rows : {2, 3}) {
    int const columns = 3;
    std::atomic<int> wrong{0};
    in_process::run(rows * columns, [&](endpoint& world) {
      int const row = world.rank() / columns;
      int const column = world.rank() % columns;
      std::vector<int> in_row;
      std::vector<int> in_column;
      for (int each = 0; each < columns; ++each) in_row.push_back(row * columns + each);
      for (int each = rows - 1; each >= 0; --each) in_column.push_back(each * columns + column);  // in another order
      auto const mine = make_subgroup(world, in_row);
      auto const across = make_subgroup(world, in_column);
      wrong += mine->rank() == column && mine->size() == columns ? 0 : 1;
      wrong += across->rank() == rows - 1 - row && across->size() == rows ? 0 : 1;
      for (int each = 0; each < columns; ++each) wrong += mine->global_rank(each) == row * columns + each ? 0 : 1;

      // Both kinds at once, with different tags, and the whole world between them.
      weft::transport::running_all_reduce<float> a(*mine, all_reduce_choice("ring"), 1000,
                                                   weft::schedule::running_tag(0), {.segment_elements = 64});
      weft::transport::running_all_reduce<float> b(*across, all_reduce_choice("recursive-halving"), 777,
                                                   weft::schedule::running_tag(1), {.segment_elements = 64});
      weft_test::fenced_buffer<float> first(mine->rank(), 1000, row);
      weft_test::fenced_buffer<float> second(across->rank(), 777, 100 + column);
      a.start(first.data());
      b.start(second.data());
      double total = 1.0;
      weft::transport::all_reduce_sum(world, &total, 1);
      wrong += total == rows * columns ? 0 : 1;
      b.wait(60.0, [&] { static_cast<void>(a.advance()); });
      a.wait(60.0);
      wrong +=
          first.holds(weft_test::expected_sums<float>(weft::collective::ring::all_reduce(columns), 1000, row)) ? 0 : 1;
      wrong += second.holds(weft_test::expected_sums<float>(weft::collective::recursive_halving::all_reduce(rows), 777,
                                                            100 + column))
                   ? 0
                   : 1;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("subgroup: of a subgroup, and of oneself") {
  std::atomic<int> wrong{0};
  in_process::run(6, [&](endpoint& world) {
    auto const alone = make_subgroup(world, {world.rank()});
    double value = 3.0;
    weft::transport::all_reduce_sum(*alone, &value, 1);
    wrong += value == 3.0 && alone->global_rank(0) == world.rank() ? 0 : 1;
    if (world.rank() % 2 == 0) return;
    auto const odd = make_subgroup(world, {1, 3, 5});
    if (odd->rank() == 0) return;
    auto const last = make_subgroup(*odd, {2, 1});
    wrong +=
        last->global_rank(0) == 5 && last->global_rank(1) == 3 && last->rank() == (world.rank() == 5 ? 0 : 1) ? 0 : 1;
    value = world.rank();
    weft::transport::all_reduce_sum(*last, &value, 1);
    wrong += value == 8.0 ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("subgroup: a failure inside one is heard everywhere, with the rank's number in the world") {
  std::string heard;
  CHECK_THROWS_WITH_AS(
      in_process::run(4,
                      [&](endpoint& world) {
                        auto const pair = make_subgroup(world, {world.rank() / 2 * 2, world.rank() / 2 * 2 + 1});
                        double value = 0.0;
                        if (world.rank() == 3) throw weft::error("enough");
                        try {
                          weft::transport::all_reduce_sum(pair->size() == 2 && world.rank() == 2 ? *pair : world,
                                                          &value, 1, 60.0);
                        } catch (weft::remote_error const& failure) {
                          if (world.rank() == 0) heard = failure.what();
                          throw;
                        }
                      }),
      "enough", weft::error);
  CHECK(heard == "enough");

  CHECK_THROWS_WITH_AS(in_process::run(4,
                                       [](endpoint& world) {
                                         if (world.rank() < 2) return;
                                         auto const pair = make_subgroup(world, {2, 3});
                                         double value = 0.0;
                                         if (world.rank() == 2) weft::transport::all_reduce_sum(*pair, &value, 1, 0.2);
                                       }),
                       doctest::Contains("; rank 2 waits for rank 3; rank 3 holds up the others"), weft::error);
}

TEST_CASE("subgroup: messages call a rank by its number in the world") {
  auto const message_of = [](std::function<void(endpoint&)> const& function) {
    try {
      in_process::run(4, [&](endpoint& world) {
        if (world.rank() < 2) return;
        auto const pair = make_subgroup(world, {2, 3});
        function(*pair);
      });
    } catch (weft::error const& failure) {
      return std::string(failure.what());
    }
    return std::string("no error");
  };
  CHECK(
      message_of([](endpoint& pair) {
        char data[16] = {};
        weft::transport::posted_messages posted(pair, "test", 60.0);
        if (pair.rank() == 0)
          posted.send(data, 8, 1, 3);
        else
          posted.receive(data, 16, 0, 3);
        posted.settle();
      }) ==
      "weft::transport: test: rank 3 received 8 bytes from rank 2 where 16 are right; all ranks must call it with the "
      "same sizes");
  CHECK(message_of([](endpoint& pair) {
          std::string heard;
          try {
            weft::transport::guarded(pair, [&] {
              if (pair.rank() == 1) throw std::runtime_error("enough");
              double value = 0.0;
              weft::transport::all_reduce_sum(pair, &value, 1, 60.0);
            });
          } catch (weft::remote_error const& failure) {
            heard = failure.what();
          } catch (std::runtime_error const&) {
            return;  // rank 3's own words
          }
          throw weft::error(heard);
        }) == "rank 3: enough");
}

TEST_CASE("subgroup: members that cannot be are refused") {
  auto const refusal = [](std::vector<int> const& members) {
    try {
      in_process::run(1, [&](endpoint& world) { static_cast<void>(make_subgroup(world, members)); });
    } catch (weft::error const& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal({0}) == "accepted");
  CHECK(refusal({}) == "weft::transport::make_subgroup: it has no member; name at least the calling rank");
  CHECK(refusal({0, 1}) == "weft::transport::make_subgroup: rank 1 is not one of the 1 ranks; check the mesh");
  CHECK(refusal({-1, 0}) == "weft::transport::make_subgroup: rank -1 is not one of the 1 ranks; check the mesh");
  CHECK(refusal({0, 0}) == "weft::transport::make_subgroup: rank 0 is named twice; name every rank once");
  CHECK_THROWS_WITH_AS(
      in_process::run(2, [](endpoint& world) { static_cast<void>(make_subgroup(world, {0})); }),
      "weft::transport::make_subgroup: rank 1 makes it and is no member; call make_subgroup on the members alone",
      weft::error);
  CHECK_THROWS_WITH_AS(in_process::run(2,
                                       [](endpoint& world) {
                                         auto const both = make_subgroup(world, {1, 0});
                                         static_cast<void>(both->send(nullptr, 0, 2, 1));
                                       }),
                       "weft::transport::subgroup: there is no rank 2 among 2 ranks; check the placement", weft::error);
}
