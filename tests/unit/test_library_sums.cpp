// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All-reduces by a vendor's library, beside its messages.
#include "support/all_reduce_checks.hpp"
#include "support/guarded_memory.hpp"
#include "support/host_library.hpp"
#include "support/small_program.hpp"

#include <weft/transport/in_process.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/wait.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using weft::collective::all_reduce_choice;
using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::make_subgroup;
using weft::transport::running_all_reduce;
using weft_test::guarded_memory;
using weft_test::small_program;
using library = weft_test::host_library<true>;
using library_door = weft::transport::library_door<library>;

/// The words of the failure that ended it.
std::string play(int ranks, std::function<void(library_door&)> const& function, std::vector<int> const& members = {},
                 std::vector<library::counts>* told = nullptr) {
  auto const program = small_program();
  try {
    in_process::run(ranks, [&](endpoint& world) {
      library_door door(
          world, program.view(), library(told == nullptr ? nullptr : &told->at(static_cast<std::size_t>(world.rank()))),
          {.members = members.empty() ? weft::transport::chosen_ranks::all() : weft::transport::chosen_ranks(members),
           .deadline = 20.0});
      function(door);
    });
  } catch (weft::error const& failure) {
    return failure.what();
  }
  return "";
}

template <class Number>
class device_array {
 public:
  device_array(std::size_t count, int rank, int salt)
      : data_(static_cast<Number*>(guarded_memory::allocate(count * sizeof(Number)))),
        count_(count) {
    guarded_memory::opened const open(data_);
    for (std::size_t index = 0; index < count; ++index)
      data_[index] = weft_test::contribution<Number>(rank, static_cast<std::int64_t>(index), salt);
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { guarded_memory::free(data_); }
  [[nodiscard]] Number* data() const { return data_; }

  /// The host library's order: from the last rank down.
  [[nodiscard]] bool holds_sum_of(std::vector<int> const& ranks, int salt) const {
    guarded_memory::opened const open(data_);
    for (std::size_t index = 0; index < count_; ++index) {
      Number total = 0;
      for (std::size_t each = ranks.size(); each-- > 0;)
        total += weft_test::contribution<Number>(ranks[each], static_cast<std::int64_t>(index), salt);
      if (std::memcmp(&total, data_ + index, sizeof total) != 0) return false;
    }
    return true;
  }

 private:
  Number* data_;
  std::size_t count_;
};

}  // namespace

TEST_CASE("library sums: in a device's memory, several under way, again and again, beside another subgroup's") {
  std::atomic<int> wrong{0};
  auto const words = play(4, [&](library_door& door) {
    std::vector<int> const members = door.rank() % 2 == 0 ? std::vector<int>{0, 2} : std::vector<int>{3, 1};
    auto const own = make_subgroup(door, members, true, "Guarded");
    if (!own->has_library() || !own->has_device_library()) ++wrong;
    all_reduce_choice const how("nccl");
    running_all_reduce<float> one(*own, how, 1003, 32001);
    running_all_reduce<double> two(*own, how, 17, 32002);
    running_all_reduce<float> none(*own, how, 0, 32003);
    for (int salt = 0; salt < 3; ++salt) {
      device_array<float> const first(1003, door.rank(), salt);
      device_array<double> const second(17, door.rank(), salt);
      one.start(first.data());
      two.start(second.data());
      none.start(nullptr);
      none.wait(20.0);
      if (salt % 2 == 0) two.wait(20.0);  // completed in any order
      one.wait(20.0);
      two.wait(20.0);
      if (!first.holds_sum_of(members, salt) || !second.holds_sum_of(members, salt)) ++wrong;
    }
  });
  CHECK(words == "");
  CHECK(wrong == 0);
}

TEST_CASE("library sums: a message that stands still does not stop them, nor they it") {
  std::atomic<int> wrong{0};
  auto const words = play(2, [&](library_door& door) {
    auto const own = make_subgroup(door, {0, 1}, true, "Guarded");
    device_array<float> const message(16, door.rank(), 0);
    device_array<float> const values(64, door.rank(), 1);
    running_all_reduce<float> sum(*own, all_reduce_choice("nccl"), 64, 32001);
    // Rank 0 sends before the sum and rank 1 receives after it: in one queue they would wait in a circle.
    weft::transport::request posted;
    if (door.rank() == 0) posted = door.send_parts({nullptr, 0, message.data(), 64}, 1, 5);
    sum.start(values.data());
    sum.wait(20.0);
    if (door.rank() == 1) posted = door.receive_parts({nullptr, 0, message.data(), 64}, 0, 5);
    while (!door.test(posted)) door.yield();
    if (!values.holds_sum_of({0, 1}, 1)) ++wrong;
    if (!message.holds_sum_of({0}, 0)) ++wrong;
  });
  CHECK(words == "");
  CHECK(wrong == 0);
}

TEST_CASE("library sums: who waits for one moves what the door inside stages") {
  // Rank 1 starts the sum once rank 2 has a message of many chunks, and rank 0, which sends them, waits for the sum.
  using host_door = weft::transport::library_door<weft_test::host_library<false>>;
  auto const program = small_program();
  std::string words;
  std::atomic<int> wrong{0};
  try {
    in_process::run(3, [&](endpoint& world) {
      weft::transport::staged<1024, weft::transport::host_copies> staged(world);
      std::vector<int> const pair{0, 1};
      auto const members = weft::transport::chosen_ranks(world.rank() < 2 ? pair : std::vector<int>());
      host_door door(staged, program.view(), weft_test::host_library<false>(), {.members = members, .deadline = 20.0});
      auto const settle = [&](weft::transport::request& posted) {
        weft::transport::wait(door, posted, 5.0, [] { throw weft::error("weft::test: nothing came"); });
      };
      constexpr std::ptrdiff_t bytes = 64 * 1024;
      std::vector<char> body(bytes, world.rank() == 0 ? 'x' : ' ');
      char token = 0;
      if (world.rank() == 2) {
        auto chunks = door.receive_parts({nullptr, 0, body.data(), body.size()}, 0, 5);
        settle(chunks);
        if (std::count(body.begin(), body.end(), 'x') != bytes) ++wrong;
        auto told = door.send(&token, 1, 1, 6);
        return settle(told);
      }
      auto const both = make_subgroup(door, pair, true, "Host");
      std::vector<float> data(10, 1.0F);
      running_all_reduce<float> sum(*both, all_reduce_choice("nccl"), 10, 32001);
      weft::transport::request posted;
      if (world.rank() == 0) {
        posted = door.send_parts({nullptr, 0, body.data(), body.size()}, 2, 5);
      } else {
        posted = door.receive(&token, 1, 2, 6);
        settle(posted);
      }
      sum.start(data.data());
      sum.wait(5.0);
      settle(posted);
      if (data != std::vector<float>(10, 2.0F)) ++wrong;
    });
  } catch (weft::error const& failure) {
    words = failure.what();
  }
  CHECK(words == "");
  CHECK(wrong == 0);
}

TEST_CASE("library sums: one that was launched before its start failed is ended") {
  std::vector<library::counts> told(2);
  std::vector<library::counts> of_sums(2);
  for (std::size_t rank = 0; rank < 2; ++rank) told[rank].of_another = &of_sums[rank];
  std::atomic<int> starts_failed{0};
  std::atomic<int> wrong{0};
  auto const words = play(
      2,
      [&](library_door& door) {
        auto const own = make_subgroup(door, {0, 1}, true, "Guarded");
        std::int64_t const elements = 3 + door.rank();
        device_array<float> const values(4, door.rank(), 0);
        running_all_reduce<float> sum(*own, all_reduce_choice("nccl"), elements, 32001);
        try {
          sum.start(values.data());
        } catch (
            weft::error const&) {  // at least on the rank that comes last, whose launch shows that the sizes differ
          ++starts_failed;
          if (of_sums[static_cast<std::size_t>(door.rank())].aborts != 1) ++wrong;
          throw;
        }
        sum.wait(20.0);
      },
      {}, &told);
  CHECK(words == "host library: rank 0 sums 3 elements where rank 1 sums 4 elements");
  CHECK(starts_failed >= 1);
  CHECK(wrong == 0);
}

TEST_CASE("library sums: other orders on two ranks are told, on every rank, and nothing hangs") {
  auto const words = play(2, [&](library_door& door) {
    auto const own = make_subgroup(door, {0, 1}, true, "Guarded");
    device_array<float> const first(3, door.rank(), 0);
    device_array<float> const second(4, door.rank(), 1);
    running_all_reduce<float> one(*own, all_reduce_choice("nccl"), 3, 32001);
    running_all_reduce<float> two(*own, all_reduce_choice("nccl"), 4, 32002);
    if (door.rank() == 0) one.start(first.data());
    two.start(second.data());
    if (door.rank() == 1) one.start(first.data());
    one.wait(20.0);
    two.wait(20.0);
  });
  CHECK(words == "host library: rank 0 sums 3 elements where rank 1 sums 4 elements");
}

TEST_CASE("library sums: a reduction to one rank and a broadcast from it; one order on all ranks, or it is told") {
  auto const post = [](library_door& door, bool is_swapped) {
    auto const sums = door.make_device_library({0, 1, 2}, "Guarded");
    constexpr auto type = weft::transport::summand::f64;
    device_array<double> const one(33, door.rank(), 0);
    device_array<double> const two(33, door.rank(), 1);
    std::vector<weft::transport::request> posted{sums->reduce(one.data(), 33, type, 0)};
    if (is_swapped) posted.push_back(sums->reduce(two.data(), 33, type, 0));
    posted.push_back(sums->broadcast(one.data(), 33, type, 0));
    if (!is_swapped) posted.push_back(sums->reduce(two.data(), 33, type, 1));
    for (auto& each : posted)
      while (!door.test(each)) door.check_failure(), door.yield();
    bool const holds = one.holds_sum_of({0, 1, 2}, 0);
    return holds && two.holds_sum_of(door.rank() == 1 ? std::vector<int>{0, 1, 2} : std::vector<int>{door.rank()}, 1);
  };
  std::atomic<int> wrong{0};
  CHECK(play(3, [&](library_door& door) { wrong += post(door, false) ? 0 : 1; }) == "");
  CHECK(wrong == 0);
  // The leader of a hierarchy that begins its second sum before it has told the first one.
  CHECK(play(3, [&](library_door& door) { static_cast<void>(post(door, door.rank() == 0)); }) ==
        "host library: rank 0 sums 33 elements by rank 0 where rank 1 is told 33 elements by rank 0");
}

TEST_CASE("library sums: a failure on one rank ends those that are under way on the others") {
  std::vector<library::counts> told(2);
  std::vector<library::counts> of_sums(2);
  for (std::size_t rank = 0; rank < 2; ++rank) told[rank].of_another = &of_sums[rank];
  auto const words = play(
      2,
      [&](library_door& door) {
        auto const own = make_subgroup(door, {0, 1}, true, "Guarded");
        device_array<float> const values(8, door.rank(), 0);
        if (door.rank() == 1) throw weft::error("rank 1 has had enough");
        running_all_reduce<float> sum(*own, all_reduce_choice("nccl"), 8, 32001);
        sum.start(values.data());
        sum.wait(20.0);
      },
      {}, &told);
  CHECK(words == "rank 1 has had enough");
  CHECK(of_sums[0].aborts == 1);
  CHECK(of_sums[0].left == 0);
}

TEST_CASE(
    "library sums: refused in words where ranks have no such door, are of two vendors, or the memory is another") {
  std::string const refused =
      "weft::transport: the all-reduce \"nccl\" is the device vendor's library's, and here not all ranks have a door "
      "of one vendor's; run over transport::nccl or transport::rccl, or choose ring, recursive-doubling, "
      "recursive-halving, tree or hierarchical";
  auto const over = [](endpoint& door, std::string_view memory) {
    auto const own = make_subgroup(door, {0, 1, 2}, true, memory);
    running_all_reduce<float> sum(*own, all_reduce_choice("nccl"), 8, 32001);
  };
  std::string plain;
  try {
    in_process::run(3, [&](endpoint& world) { over(world, "Guarded"); });
  } catch (weft::error const& failure) {
    plain = failure.what();
  }
  CHECK(plain == refused);
  CHECK(play(3, [&](library_door& door) { over(door, "Guarded"); }, {0, 2}) == refused);
  CHECK(play(3, [&](library_door& door) { over(door, "Host"); }) == refused);
  CHECK(play(3, [&](library_door& door) { over(door, "Guarded"); }) == "");
  CHECK_THROWS_WITH_AS(static_cast<void>(all_reduce_choice("nccl").list(2)),
                       doctest::Contains("\"nccl\" is the device vendor's library's all-reduce and has no step list"),
                       weft::error);
}
