// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums over ranks whose numbers are in memory that the host may not touch: the bits of the host's sums.
#include "support/all_reduce_checks.hpp"
#include "support/guarded_memory.hpp"
#include "support/guarded_numbers.hpp"

#include <weft/transport/bodies_in_place.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/device_numbers.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/number_memory.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/staged.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using weft::collective::all_reduce_choice;
using weft::transport::bodies_in_place;
using weft::transport::carrier;
using weft::transport::endpoint;
using weft::transport::host_copies;
using weft::transport::in_process;
using weft::transport::running_all_reduce;
using weft_test::guarded_array;
using weft_test::guarded_copies;
using weft_test::guarded_memory;
using weft_test::guarded_numbers;
using device_staged = weft::transport::staged<1024, guarded_copies>;
using host_staged = weft::transport::staged<1024, host_copies>;

static_assert(weft::transport::number_memory<weft::transport::host_numbers<float>, float>);

template <class Number>
std::vector<Number> contributions(int rank, std::int64_t elements, int salt) {
  std::vector<Number> made;
  for (std::int64_t element = 0; element < elements; ++element)
    made.push_back(weft_test::contribution<Number>(rank, element, salt));
  return made;
}

/// Two runs of one object in guarded memory. Collective.
template <class Number>
bool guarded_sums_are_right(endpoint& door, all_reduce_choice const& how, std::int64_t elements, std::int64_t segment) {
  running_all_reduce<Number, guarded_numbers<Number>> running(door, how, elements, weft::schedule::running_tag(0),
                                                              {.segment_elements = segment, .in_parts = true}, {});
  bool is_right = true;
  for (int salt = 0; salt < 2; ++salt) {
    guarded_array<Number> const mine(static_cast<std::size_t>(elements));
    mine.put(contributions<Number>(door.rank(), elements, salt));
    running.start(mine.data());
    running.wait(60.0);
    is_right = is_right && mine.get(static_cast<std::size_t>(elements)) ==
                               weft_test::expected_sums<Number>(how.list(door.size()), elements, salt);
  }
  return is_right;
}

/// The same in host memory; messages in parts.
bool host_sums_are_right(endpoint& door, all_reduce_choice const& how, std::int64_t elements, std::int64_t segment) {
  running_all_reduce<float> running(door, how, elements, weft::schedule::running_tag(0),
                                    {.segment_elements = segment, .in_parts = true});
  weft_test::fenced_buffer<float> mine(door.rank(), elements);
  running.start(mine.data());
  running.wait(60.0);
  return mine.holds(weft_test::expected_sums<float>(how.list(door.size()), elements));
}

/// Says that a vendor's library carries device memory.
class library_like final : public weft::transport::relay {
 public:
  using relay::relay;
  [[nodiscard]] bool moves_parts(int, std::string_view) const override { return true; }
  [[nodiscard]] carrier carries(int, std::string_view) const override { return carrier::library; }
};

/// Counts how often a rank has asked for its turn to launch.
class counting final : public weft::transport::relay {
 public:
  using relay::relay;
  [[nodiscard]] weft::transport::launch_guard launch_lock() override {
    ++turns;
    return relay::launch_lock();
  }
  int turns = 0;
};

}  // namespace

TEST_CASE("sums in place: guarded memory has the bits of play_locally, any policy, size and segment") {
  for (int const ranks : {2, 3, 4, 5})
    for (char const* const name : {"ring", "recursive-doubling", "recursive-halving", "tree", "hierarchical:2"}) {
      CAPTURE(ranks);
      CAPTURE(name);
      all_reduce_choice const how(name);
      std::atomic<int> wrong{0};
      in_process::run(ranks, [&](endpoint& inner) {
        device_staged door(inner);
        for (std::int64_t const elements : {1, ranks + 1})
          if (!guarded_sums_are_right<float>(door, how, elements, 0)) ++wrong;
        if (!guarded_sums_are_right<float>(door, how, 2003, 300)) ++wrong;
        if (!guarded_sums_are_right<double>(door, how, 1009, 100)) ++wrong;
      });
      CHECK(wrong == 0);
    }
}

TEST_CASE("sums in place: a rank with a device and one without it have the same bits") {
  for (int const ranks : {2, 3}) {
    all_reduce_choice const how("ring");
    std::atomic<int> wrong{0};
    in_process::run(ranks, [&](endpoint& inner) {
      if (inner.rank() == 0) {
        device_staged door(inner);
        if (!bodies_in_place(door, "Guarded", true)) ++wrong;
        running_all_reduce<float, guarded_numbers<float>> running(door, how, 1001, weft::schedule::running_tag(0),
                                                                  {.segment_elements = 128, .in_parts = true}, {});
        guarded_array<float> const mine(1001);
        mine.put(contributions<float>(0, 1001, 0));
        running.start(mine.data());
        running.wait(60.0);
        if (mine.get(1001) != weft_test::expected_sums<float>(how.list(ranks), 1001)) ++wrong;
      } else {
        host_staged door(inner);
        if (!bodies_in_place(door, "Host", false)) ++wrong;
        if (!host_sums_are_right(door, how, 1001, 128)) ++wrong;
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("sums in place: bodies handed to MPI are messages of one piece, so either end may have a mirror") {
  std::atomic<int> wrong{0};
  all_reduce_choice const how("recursive-halving");
  in_process::run(3, [&](endpoint& inner) {
    weft::transport::device_aware door(inner, "Host");
    if (!(inner.rank() == 1 ? weft_test::sums_are_right<float>(inner, how, 1009, 100, 1)
                            : host_sums_are_right(door, how, 1009, 100)))
      ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("sums in place: the kernel's additions are the host's") {
  using space = Kokkos::DefaultHostExecutionSpace;
  auto own = contributions<double>(0, 1000, 0);
  auto const received = contributions<double>(1, 1000, 0);
  auto expected = own;
  weft::collective::add_received(expected.data(), received.data(), expected.size());
  in_process::run(1, [&](endpoint& inner) {
    counting door(inner);
    weft::transport::device_numbers<double, space> numbers(door, space{});
    auto const added = numbers.add(own.data(), received.data(), own.size());
    CHECK(added > 0);
    CHECK(door.turns == 1);
    CHECK(numbers.is_done(added));
    CHECK(own == expected);
    auto* const scratch = numbers.make_scratch(7);
    scratch[6] = 3.0;
    CHECK(numbers.add(own.data(), scratch, 0) > added);
    numbers.finish();
  });
}

TEST_CASE("sums in place: a kernel that adds is launched in its rank's turn, in the midst of a launch too") {
  using space = Kokkos::DefaultHostExecutionSpace;
  using numbers = weft::transport::device_numbers<float, space>;
  std::atomic<int> wrong{0};
  in_process::run(3, [&](endpoint& inner) {
    host_staged door(inner);
    all_reduce_choice const how("ring");
    running_all_reduce<float, numbers> running(door, how, 1001, weft::schedule::running_tag(0),
                                               {.segment_elements = 64, .in_parts = true}, numbers(door, space{}));
    for (int salt = 0; salt < 4; ++salt) {
      auto mine = contributions<float>(door.rank(), 1001, salt);
      running.start(mine.data());
      {
        auto const launch = door.launch_lock();  // as a stage that moves messages between its kernels
        if (!launch.owns_lock() || door.launch_lock().owns_lock()) ++wrong;
        for (int turn = 0; turn < 10; ++turn) static_cast<void>(running.advance());
      }
      running.wait(60.0);
      if (mine != weft_test::expected_sums<float>(how.list(3), 1001, salt)) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("sums in place: only where a device takes part and every pair hands bodies over, and all ranks agree") {
  /// How many of three ranks say yes, with a door for each.
  auto const yes = [](auto&& make, std::vector<bool> const& devices) {
    std::atomic<int> found{0};
    in_process::run(3, [&](endpoint& inner) {
      auto const rank = static_cast<std::size_t>(inner.rank());
      std::unique_ptr<endpoint> const door = make(inner);
      endpoint& mine = door == nullptr ? inner : *door;
      found += bodies_in_place(mine, devices[rank] ? "Guarded" : "Host", devices[rank]) ? 1 : 0;
    });
    return found.load();
  };
  auto const plain = [](endpoint&) { return std::unique_ptr<endpoint>(); };
  auto const staged = [](endpoint& inner) -> std::unique_ptr<endpoint> {
    return std::make_unique<device_staged>(inner);
  };
  auto const by_kind = [](endpoint& inner) -> std::unique_ptr<endpoint> {
    if (inner.rank() == 2) return std::make_unique<host_staged>(inner);
    return std::make_unique<device_staged>(inner);
  };
  auto const one_lacks = [](endpoint& inner) -> std::unique_ptr<endpoint> {
    if (inner.rank() == 2) return nullptr;
    return std::make_unique<device_staged>(inner);
  };
  auto const library = [](endpoint& inner) -> std::unique_ptr<endpoint> {
    return std::make_unique<library_like>(inner);
  };
  auto const only_hosts = [](endpoint& inner) -> std::unique_ptr<endpoint> {
    return std::make_unique<host_staged>(inner);
  };
  CHECK(yes(plain, {true, true, true}) == 0);
  CHECK(yes(staged, {true, true, true}) == 3);
  CHECK(yes(by_kind, {true, true, false}) == 3);
  CHECK(yes(one_lacks, {true, true, true}) == 0);
  CHECK(yes(library, {true, true, true}) == 0);
  CHECK(yes(only_hosts, {false, false, false}) == 0);  // hosts send from where the numbers are anyway
}

TEST_CASE("sums in place: given up with an addition under way, the memory is the caller's again") {
  std::atomic<int> wrong{0};
  in_process::run(2, [&](endpoint& inner) {
    device_staged door(inner);
    auto mine = std::make_unique<guarded_array<float>>(512);
    mine->put(contributions<float>(inner.rank(), 512, 0));
    running_all_reduce<float, guarded_numbers<float>> running(door, all_reduce_choice("ring"), 512,
                                                              weft::schedule::running_tag(0),
                                                              {.segment_elements = 16, .in_parts = true}, {});
    running.start(mine->data());
    for (int turn = 0; turn < 20; ++turn) static_cast<void>(running.advance());
    if (!running.give_up()) ++wrong;  // staged messages are the host's buffers
    mine.reset();
  });
  CHECK(wrong == 0);
}
