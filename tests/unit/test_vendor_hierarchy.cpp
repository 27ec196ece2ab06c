// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All-reduces in two levels: by a vendor's library within each vendor, by messages across.
#include "support/all_reduce_checks.hpp"
#include "support/guarded_memory.hpp"
#include "support/guarded_numbers.hpp"
#include "support/host_library.hpp"
#include "support/small_program.hpp"

#include <weft/collective/by_groups.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/no_library.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/running_hierarchical.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/vendor_groups.hpp>
#include <weft/transport/wait.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using weft::collective::all_reduce_choice;
using weft::transport::endpoint;
using weft::transport::host_copies;
using weft::transport::host_numbers;
using weft::transport::in_process;
using weft::transport::running_all_reduce;
using weft::transport::vendor_groups;
using weft_test::guarded_array;
using weft_test::guarded_copies;
using weft_test::guarded_numbers;
using weft_test::small_program;
using library = weft_test::host_library<true>;
using library_door = weft::transport::library_door<library>;
using host_door = weft::transport::library_door<weft::transport::no_library>;
namespace schedule = weft::schedule;

constexpr int host = -1;

/// Ranks of several vendors, each with its library and a memory of its own, between which messages are staged; ranks
/// that are `host` have neither. Returns the words of the failure that ended it.
template <bool Staged = true>
std::string play(std::vector<int> const& vendors, std::function<void(vendor_groups&)> const& function,
                 std::vector<library::counts>* told = nullptr) {
  auto const program = small_program();
  try {
    in_process::run(static_cast<int>(vendors.size()), [&](endpoint& world) {
      auto const own = static_cast<std::size_t>(world.rank());
      bool const is_host = vendors[own] == host;
      weft::transport::staged<1024, guarded_copies> staged(world);
      weft::transport::staged<1024, host_copies> staged_host(world);
      endpoint& inner = !Staged ? world : is_host ? static_cast<endpoint&>(staged_host) : staged;
      std::vector<int> alike;
      for (int each = 0; each < world.size() && !is_host; ++each)
        if (vendors[static_cast<std::size_t>(each)] == vendors[own]) alike.push_back(each);
      weft::transport::library_options const options{.members = weft::transport::chosen_ranks(alike), .deadline = 20.0};
      std::unique_ptr<endpoint> door;
      if (is_host)
        door = std::make_unique<host_door>(inner, program.view(), weft::transport::no_library(), options);
      else
        door = std::make_unique<library_door>(inner, program.view(),
                                              library(told == nullptr ? nullptr : &told->at(own)), options);
      vendor_groups groups(*door, is_host ? "Host" : "Guarded", !is_host, 20.0);
      function(groups);
    });
  } catch (weft::error const& failure) {
    return failure.what();
  }
  return "";
}

/// Whole numbers, whose sums are exact in any order, or such that show it.
template <class Number>
Number value(bool is_whole, int rank, std::int64_t element, int salt) {
  if (!is_whole) return weft_test::contribution<Number>(rank, element, salt);
  return static_cast<Number>((element * 7 + rank * 31 + salt * 13) % 1001 - 500);
}

template <class Number>
std::vector<Number> values(bool is_whole, int rank, std::int64_t elements, int salt) {
  std::vector<Number> made;
  for (std::int64_t element = 0; element < elements; ++element)
    made.push_back(value<Number>(is_whole, rank, element, salt));
  return made;
}

template <class Number>
std::vector<Number> sums(bool is_whole, std::vector<int> const& groups, std::int64_t elements, int salt) {
  std::vector<std::vector<Number>> all;
  std::vector<Number*> data;
  for (int rank = 0; rank < static_cast<int>(groups.size()); ++rank)
    all.push_back(values<Number>(is_whole, rank, elements, salt));
  for (auto& each : all) data.push_back(each.data());
  auto const list = weft::collective::all_reduce_by_groups(groups.data(), static_cast<int>(groups.size()));
  weft::collective::play_locally(list, data.data(), elements);
  return all.front();
}

/// Where a rank's numbers are.
template <class Number>
class host_array {
 public:
  explicit host_array(std::size_t count) : data_(count) {}
  [[nodiscard]] Number* data() { return data_.data(); }
  void put(std::vector<Number> const& values) { data_ = values; }
  [[nodiscard]] std::vector<Number> get(std::size_t) const { return data_; }

 private:
  std::vector<Number> data_;
};

/// Several sums at once, twice each, waited for in another order than they began. Collective.
template <class Number, template <class> class Memory, template <class> class Array>
bool sums_are_right(vendor_groups& door, bool is_whole) {
  constexpr int count = 4;
  constexpr std::int64_t elements[count] = {1003, 0, 17, 300};
  using sum = running_all_reduce<Number, Memory<Number>>;
  std::vector<std::unique_ptr<sum>> all;
  std::vector<std::unique_ptr<Array<Number>>> data;
  for (int each = 0; each < count; ++each) {
    all.push_back(std::make_unique<sum>(door, all_reduce_choice("hierarchical:nccl"), elements[each],
                                        schedule::running_tag(each),
                                        weft::transport::all_reduce_options{.segment_elements = 64}, Memory<Number>()));
    data.push_back(std::make_unique<Array<Number>>(static_cast<std::size_t>(elements[each])));
  }
  bool is_right = true;
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t each = 0; each < count; ++each) {
      data[each]->put(values<Number>(is_whole, door.rank(), elements[each], turn + 5 * static_cast<int>(each)));
      all[each]->start(data[each]->data());
    }
    auto const advance_all = [&] {
      for (auto& each : all) static_cast<void>(each->advance());
    };
    for (std::size_t each = count; each-- > 0;) all[each]->wait(20.0, advance_all);
    for (std::size_t each = 0; each < count; ++each)
      is_right =
          is_right && data[each]->get(static_cast<std::size_t>(elements[each])) ==
                          sums<Number>(is_whole, door.group_of(), elements[each], turn + 5 * static_cast<int>(each));
  }
  return is_right;
}

/// Such as transport::automatic over a library's door.
class door_without_sums final : public weft::transport::relay {
 public:
  using relay::relay;
  [[nodiscard]] weft::transport::carrier carries(int, std::string_view) const override {
    return weft::transport::carrier::library;
  }
};

void check_sums(std::vector<int> const& vendors, std::vector<int> const& groups, bool is_whole) {
  std::string of_vendors;
  for (int const each : vendors) of_vendors += std::to_string(each) + " ";
  CAPTURE(of_vendors);
  std::atomic<int> wrong{0};
  auto const words = play(vendors, [&](vendor_groups& door) {
    if (door.group_of() != groups) ++wrong;
    bool const is_host = vendors[static_cast<std::size_t>(door.rank())] == host;
    if (!(is_host ? sums_are_right<float, host_numbers, host_array>(door, is_whole)
                  : sums_are_right<float, guarded_numbers, guarded_array>(door, is_whole)))
      ++wrong;
    if (!(is_host ? sums_are_right<double, host_numbers, host_array>(door, is_whole)
                  : sums_are_right<double, guarded_numbers, guarded_array>(door, is_whole)))
      ++wrong;
  });
  CHECK(words == "");
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("vendor hierarchy: the sums of the list by groups, on all ranks alike, several under way") {
  for (bool const is_whole : {true, false}) {  // groups of two have one order
    check_sums({0, 0, 1}, {0, 0, 1}, is_whole);
    check_sums({0, 0, 1, 1}, {0, 0, 1, 1}, is_whole);
    check_sums({1, 0, 1, 0}, {0, 1, 0, 1}, is_whole);
    check_sums({0, 1, 2}, {0, 1, 2}, is_whole);
  }
  check_sums({0, 0, 0, 2, 1, 1}, {0, 0, 0, 1, 2, 2}, true);
  check_sums({0, 0, 0}, {0, 0, 0}, true);
  check_sums({0}, {0}, true);
}

TEST_CASE("vendor hierarchy: ranks of hosts beside those of devices, and hosts alone") {
  for (bool const is_whole : {true, false}) {
    check_sums({0, 0, host}, {0, 0, 1}, is_whole);
    check_sums({host, 0, host, 0}, {0, 1, 2, 1}, is_whole);
    check_sums({host, host, host}, {0, 1, 2}, is_whole);
  }
}

namespace {

/// Two sums, begun in one order and waited for in the other, with nobody to advance the one that others wait for.
template <template <class> class Memory, template <class> class Array>
bool late_sum_is_right(vendor_groups& door, std::vector<int> const& groups) {
  using sum = running_all_reduce<float, Memory<float>>;
  all_reduce_choice const how("hierarchical:nccl");
  Array<float> first(200);
  Array<float> second(100);
  sum one(door, how, 200, schedule::running_tag(0), {}, Memory<float>());
  sum two(door, how, 100, schedule::running_tag(1), {}, Memory<float>());
  first.put(values<float>(true, door.rank(), 200, 0));
  second.put(values<float>(true, door.rank(), 100, 1));
  one.start(first.data());
  two.start(second.data());
  two.wait(20.0);
  one.wait(20.0);
  return first.get(200) == sums<float>(true, groups, 200, 0) && second.get(100) == sums<float>(true, groups, 100, 1) &&
         (door.progress() > 0) == (door.leads() && door.takes_turns());
}

using hierarchy = weft::transport::running_hierarchical<float, guarded_numbers<float>>;

/// Waits for one byte of rank `peer`, or sends it.
void meet(endpoint& door, int peer, bool is_send) {
  char token = 0;
  auto posted = is_send ? door.send(&token, 1, peer, 7) : door.receive(&token, 1, peer, 7);
  weft::transport::wait(door, posted, 20.0, [] { throw weft::error("weft::test: no token came"); });
}

/// Until the library is through with the first reduction.
void advance_until_reduced(hierarchy& sum, vendor_groups& door) {
  weft::transport::wait_until(
      door, 20.0, [&] { return sum.advance() || door.library()->ended() > 0; },
      [] { throw weft::error("weft::test: no reduction"); }, [] {});
}

}  // namespace

TEST_CASE("vendor hierarchy: who waits for a late sum alone moves the earlier ones, of its library and across") {
  for (auto const& vendors : {std::vector<int>{0, 0, 1, 1}, {0, 0, host}, {0, 0, 1}, {host, 0, 0}, {0, 1, host}}) {
    std::atomic<int> wrong{0};
    auto const words = play(vendors, [&](vendor_groups& door) {
      bool const is_host = vendors[static_cast<std::size_t>(door.rank())] == host;
      if (!(is_host ? late_sum_is_right<host_numbers, host_array>(door, door.group_of())
                    : late_sum_is_right<guarded_numbers, guarded_array>(door, door.group_of())))
        ++wrong;
    });
    CHECK(words == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("vendor hierarchy: each part that is through renews a wait's deadline, on every rank") {
  // Rank 2 comes once rank 1, which leads nothing, and rank 0's second sum, which is queued, have seen that the
  // reduction of the first one is through.
  std::atomic<int> wrong{0};
  auto const words = play({0, 0, 1}, [&](vendor_groups& door) {
    guarded_array<float> const first(8);
    guarded_array<float> const second(8);
    hierarchy one(door, 8, schedule::running_tag(0), 1000);
    hierarchy two(door, 8, schedule::running_tag(1), 1000);
    first.put(std::vector<float>(8, 1.0F));
    second.put(std::vector<float>(8, 2.0F));
    if (door.rank() == 0) meet(door, 1, false);
    if (door.rank() == 2) {
      meet(door, 0, false);
      meet(door, 1, false);
    }
    auto const seen = two.progress();
    one.start(first.data());
    two.start(second.data());
    if (door.rank() == 1) meet(door, 0, true);
    if (door.rank() < 2) {
      advance_until_reduced(two, door);
      if (two.advance() || two.progress() == seen) ++wrong;
      meet(door, 2, true);
    }
    two.wait(20.0, [] {});
    one.wait(20.0, [] {});
    if (first.get(8) != std::vector<float>(8, 3.0F)) ++wrong;
    if (second.get(8) != std::vector<float>(8, 6.0F)) ++wrong;
  });
  CHECK(words == "");
  CHECK(wrong == 0);
}

TEST_CASE("vendor hierarchy: a leader that gives up ends what its library has of the sum, whatever part it is in") {
  for (bool const is_queued : {false, true}) {
    CAPTURE(is_queued);
    std::vector<library::counts> told(3);
    std::vector<library::counts> of_sums(3);
    for (std::size_t rank = 0; rank < 3; ++rank) told[rank].of_another = &of_sums[rank];
    std::atomic<int> wrong{0};
    auto const words = play(
        {0, 0, 1},
        [&](vendor_groups& door) {
          guarded_array<float> const first(8);
          guarded_array<float> const second(8);
          hierarchy one(door, 8, schedule::running_tag(0), 1000);
          hierarchy two(door, 8, schedule::running_tag(1), 1000);
          if (door.rank() == 2) meet(door, 0, false);  // what never comes
          one.start(first.data());
          two.start(second.data());
          if (door.rank() == 1) two.wait(20.0, [] {});
          advance_until_reduced(one, door);  // leaders are at work, and nothing of rank 0 is in the library
          if (!(is_queued ? two : one).give_up() || of_sums[0].aborts != 1) ++wrong;
          throw weft::error("rank 0 has had enough");
        },
        &told);
    CHECK(words == "rank 0 has had enough");
    CHECK(wrong == 0);
  }
}

TEST_CASE("vendor hierarchy: a sum whose start failed is not through") {
  std::atomic<int> wrong{0};
  auto const words = play({0, 0, 1}, [&](vendor_groups& door) {
    guarded_array<float> const data(8);
    hierarchy sum(door, 8, 32001, 1000);
    if (door.rank() != 1) meet(door, 1 + door.rank() / 2, false);  // what never comes
    door.library()->give_up();
    std::string started;
    std::string advanced;
    try {
      sum.start(data.data());
    } catch (weft::error const& failure) {
      started = failure.what();
    }
    try {
      static_cast<void>(sum.advance());
    } catch (weft::error const& failure) {
      advanced = failure.what();
    }
    if (started.find("rank 1: an earlier collective was given up") == std::string::npos) ++wrong;
    if (advanced != "weft::transport::running_hierarchical: its start failed; give it up") ++wrong;
    if (!sum.give_up() || !sum.advance()) ++wrong;
    throw weft::error("enough");
  });
  CHECK(words == "enough");
  CHECK(wrong == 0);
}

TEST_CASE("vendor hierarchy: a failure on one rank ends the sums of the others, whatever part they are in") {
  for (int const failing : {0, 1, 2, 3}) {
    CAPTURE(failing);
    std::vector<library::counts> told(4);
    std::vector<library::counts> of_sums(4);
    for (std::size_t rank = 0; rank < 4; ++rank) told[rank].of_another = &of_sums[rank];
    auto const words = play(
        {0, 0, 1, 1},
        [&](vendor_groups& door) {
          guarded_array<float> const data(8);
          running_all_reduce<float, guarded_numbers<float>> sum(door, all_reduce_choice("hierarchical:nccl"), 8, 32001,
                                                                {}, guarded_numbers<float>());
          if (door.rank() == failing) throw weft::error("a rank has had enough");
          sum.start(data.data());
          sum.wait(20.0);
        },
        &told);
    CHECK(words == "a rank has had enough");
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(of_sums[rank].left == 0);
      CHECK(of_sums[rank].aborts == 1);
    }
  }
}

namespace {

/// Two sums of one door at once, and their numbers, which outlive them.
struct two_sums {
  guarded_array<float> first;
  guarded_array<float> second;
  running_all_reduce<float, guarded_numbers<float>> one;
  running_all_reduce<float, guarded_numbers<float>> two;

  two_sums(vendor_groups& door, std::int64_t of_first, std::int64_t of_second)
      : first(static_cast<std::size_t>(of_first)),
        second(static_cast<std::size_t>(of_second)),
        one(door, all_reduce_choice("hierarchical:nccl"), of_first, schedule::running_tag(0)),
        two(door, all_reduce_choice("hierarchical:nccl"), of_second, schedule::running_tag(1)) {}
};

}  // namespace

TEST_CASE("vendor hierarchy: a leader that never comes is named on every rank") {
  for (bool const is_queued : {false, true}) {  // the sum that ranks 0 and 1 wait for, behind another one
    CAPTURE(is_queued);
    std::vector<std::string> all(4);
    static_cast<void>(play({0, 0, 1, 1}, [&](vendor_groups& door) {
      two_sums of(door, 8, 8);
      try {
        if (door.rank() == 2)
          weft::transport::wait_until(
              door, 20.0, [] { return false; },
              [] { throw weft::error("weft::test: rank 2 plays the piano; let it", {.rank = 2}); }, [] {});
        of.one.start(of.first.data());
        of.two.start(of.second.data());
        (is_queued && door.rank() == 0 ? of.two : of.one).wait(door.rank() == 1 ? 0.3 : 20.0);
      } catch (weft::error const& failure) {
        all[static_cast<std::size_t>(door.rank())] = failure.what();
        throw;
      }
    }));
    for (std::string const& story : all) {
      CAPTURE(story);
      CHECK(story.find("rank 1 waited 0 s for its vendor's library, by a broadcast from rank 0") != std::string::npos);
      CHECK(story.find(is_queued ? "rank 0 waited 0 s for an earlier sum among leaders, which waits for rank 2"
                                 : "rank 0 waited 0 s for rank 2, which leads another group") != std::string::npos);
      CHECK(story.find("rank 2 plays the piano") != std::string::npos);
      CHECK(story.find("rank 3 waited 0 s for its vendor's library, which sums over its group") != std::string::npos);
    }
    CHECK(all[1].find("rank 1 waits for rank 0, that for rank 2; rank 2 holds up the others") != std::string::npos);
  }
}

TEST_CASE("vendor hierarchy: sums that begin in another order on one rank are told, and nothing hangs") {
  auto const words = play({0, 0, 1}, [&](vendor_groups& door) {
    two_sums of(door, 3, 4);
    if (door.rank() != 1) of.one.start(of.first.data());
    of.two.start(of.second.data());
    if (door.rank() == 1) of.one.start(of.first.data());
    of.one.wait(20.0, [&] { static_cast<void>(of.two.advance()); });
    of.two.wait(20.0);
  });
  CHECK(words == "host library: rank 0 sums 3 elements by rank 0 where rank 1 sums 4 elements by rank 0");
}

TEST_CASE("vendor hierarchy: refused in words, on every rank alike") {
  auto const nothing = [](vendor_groups&) {};
  CHECK(play<false>({0, 0, 1, 1}, nothing) ==
        "weft::transport::vendor_groups: rank 0 does not hand bodies to rank 2, and sums across vendors go from and "
        "into a device's memory; build the library's door on transport::staged on every rank, or choose another "
        "all-reduce");
  CHECK(play<false>({0, host}, nothing).find("rank 0 does not hand bodies to rank 1") != std::string::npos);
  CHECK(play<false>({0, 0, 0}, nothing) == "");     // nothing goes across
  CHECK(play<false>({host, host}, nothing) == "");  // nor needs to be handed over
  std::string silent;
  try {
    in_process::run(3, [&](endpoint& world) {
      door_without_sums door(world);
      vendor_groups const groups(door, "Guarded", true, 20.0);
    });
  } catch (weft::error const& failure) {
    silent = failure.what();
  }
  CHECK(silent ==
        "weft::transport::vendor_groups: rank 0: its library moves messages and makes no sums; let the library's door "
        "be the outermost one");
  std::string plain;
  try {
    in_process::run(2, [&](endpoint& world) {
      running_all_reduce<float> const sum(world, all_reduce_choice("hierarchical:nccl"), 8, 32001);
    });
  } catch (weft::error const& failure) {
    plain = failure.what();
  }
  CHECK(plain ==
        "weft::transport: the all-reduce \"hierarchical:nccl\" sums within each vendor by its library, and this door "
        "does not know which ranks share one; sum over a transport::vendor_groups");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(all_reduce_choice("hierarchical:nccl").list(2)),
      doctest::Contains("\"hierarchical:nccl\" has the device vendor's library within each vendor, and no step list; "),
      weft::error);
  CHECK_THROWS_WITH_AS(all_reduce_choice("hierarchical:rccl"), doctest::Contains("there is no all-reduce"),
                       weft::error);
}
