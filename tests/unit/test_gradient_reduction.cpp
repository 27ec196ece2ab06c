// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The three ways of summing gradients, on a host: from where they are, by way of mirrors, and in place by kernels, as
// on a device. All have the same bits. And the vendor's library, which has others.
#include "support/host_library.hpp"

#include <weft/collective/all_reduce.hpp>
#include <weft/parameters/parameter_store.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/train/gradient_reduction.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/vendor_groups.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using weft::collective::all_reduce_choice;
using weft::parameters::parameter_descriptor;
using weft::transport::endpoint;
using weft::transport::in_process;
using space = Kokkos::DefaultHostExecutionSpace;
using store = weft::parameters::parameter_store<float, space>;
using on_host = weft::train::gradient_reduction<store, space>;
using as_device = weft::train::gradient_reduction<store, space, true>;
using door_in_parts = weft::transport::staged<1024, weft::transport::host_copies>;

/// Two stages: two parameters of one layer, a frozen one, one of another layer, and a tied one in either stage.
class rank_with_gradients {
 public:
  explicit rank_with_gradients(int groups = 1) : values_(groups) {
    std::vector<parameter_descriptor> first{named("a", 171), named("b", 5), named("c", 3), named("d", 64),
                                            named("t", 90)};
    first[2].frozen = true;
    first[4].tie_group = 0;
    std::vector<parameter_descriptor> second{named("e", 700), named("t", 90)};
    second[1].tie_group = 0;
    second[1].use_site = 1;
    values_.add_stage(0, first);
    values_.add_stage(1, second);
  }

  void fill(int rank, int salt) {
    for (auto const& entry : values_.entries())
      for (int group = 0; group < values_.gradient_groups(); ++group) {
        auto const gradient = values_.gradient(entry, group);
        for (std::size_t index = 0; index < gradient.extent(0); ++index)
          gradient(index) = 1.0F / static_cast<float>(3 + 7 * rank + 11 * salt + 13 * group + static_cast<int>(index));
      }
    // As the sum over sites of a tied parameter leaves it.
    for (std::size_t index = 0; index < 90; ++index) tied_site(1)(index) = tied_site(0)(index);
  }

  template <class Reduction>
  void sum(Reduction& reduction, endpoint& door) {
    for (int const stage : {1, 0}) {
      reduction.start(door, space(), stage);
      reduction.advance();
    }
    {
      auto const launch = door.launch_lock();  // moved between the kernels of a stage
      for (int turn = 0; turn < 5; ++turn) reduction.advance();
    }
    reduction.start_tied(door, space());
    reduction.finish(door, space());
  }

  [[nodiscard]] std::vector<float> gradients() const {
    std::vector<float> all;
    for (auto const& entry : values_.entries()) {
      if (entry.descriptor.frozen) continue;
      auto const gradient = values_.gradient(entry, 0);
      all.insert(all.end(), gradient.data(), gradient.data() + gradient.extent(0));
    }
    return all;
  }

  [[nodiscard]] store& values() { return values_; }
  std::vector<int> const layer_of_entry{0, 0, 0, 1, 2, 3, 4};

 private:
  static parameter_descriptor named(char const* name, int elements) {
    parameter_descriptor made;
    made.name = name;
    made.extents[0] = elements;
    return made;
  }
  [[nodiscard]] store::view_type tied_site(std::size_t site) {
    return values_.gradient(values_.entries()[site == 0 ? 4 : 6]);
  }

  store values_;
};

/// What each rank has after two sums, the second one with other numbers, and what it held for them.
struct outcome {
  std::vector<std::vector<float>> gradients;
  std::vector<std::size_t> bytes;
};

template <class Reduction>
void sum_twice(endpoint& door, all_reduce_choice const& how, bool in_place, outcome& found) {
  rank_with_gradients mine;
  Reduction reduction(mine.values(), mine.layer_of_entry, {&door, &door}, how, 30.0, in_place);
  for (int const salt : {0, 1}) {
    mine.fill(door.rank(), salt);
    mine.sum(reduction, door);
  }
  found.gradients[static_cast<std::size_t>(door.rank())] = mine.gradients();
  found.bytes[static_cast<std::size_t>(door.rank())] = reduction.bytes();
}

/// `kinds`: of each rank, h: host, d: device by way of mirrors, i: device in place, p: host among such.
outcome sums(std::string const& kinds, all_reduce_choice const& how) {
  outcome found{std::vector<std::vector<float>>(kinds.size()), std::vector<std::size_t>(kinds.size())};
  in_process::run(static_cast<int>(kinds.size()), [&](endpoint& inner) {
    char const kind = kinds[static_cast<std::size_t>(inner.rank())];
    door_in_parts in_parts(inner);
    if (kind == 'h') sum_twice<on_host>(inner, how, false, found);
    if (kind == 'd') sum_twice<as_device>(inner, how, false, found);
    if (kind == 'i') sum_twice<as_device>(in_parts, how, true, found);
    if (kind == 'p') sum_twice<on_host>(in_parts, how, true, found);
  });
  return found;
}

}  // namespace

TEST_CASE("gradient reduction: a device's ways have a host's bits, alone and mixed") {
  for (std::string const name : {"ring", "tree", "recursive-halving"}) {
    CAPTURE(name);
    all_reduce_choice const how(name);
    auto const expected = sums("hhh", how);
    rank_with_gradients untouched;
    untouched.fill(0, 1);
    CHECK(expected.gradients[0] != untouched.gradients());
    CHECK(expected.gradients[0] == expected.gradients[2]);
    for (std::string const kinds : {"ddd", "hdh", "iii", "pip"}) {
      CAPTURE(kinds);
      auto const found = sums(kinds, how);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(found.gradients[rank] == expected.gradients[rank]);
        // Mirrors are of all that is summed, a tied parameter once; tensors are aligned.
        if (kinds[rank] == 'd') CHECK(found.bytes[rank] >= expected.bytes[rank] + (171 + 5 + 64 + 90 + 700) * 4);
        if (kinds[rank] == 'i') CHECK(found.bytes[rank] == expected.bytes[rank]);
      }
    }
  }
}

TEST_CASE("gradient reduction: groups of one pipeline are added by way of mirrors, whatever was asked for") {
  auto const sum = [](auto kind, bool in_place) {
    std::vector<float> found;
    in_process::run(1, [&](endpoint& door) {
      rank_with_gradients mine(3);
      typename decltype(kind)::type reduction(mine.values(), mine.layer_of_entry, {}, all_reduce_choice("ring"), 30.0,
                                              in_place);
      mine.fill(0, 0);
      mine.sum(reduction, door);
      found = mine.gradients();
    });
    return found;
  };
  auto const expected = sum(std::type_identity<on_host>(), false);
  CHECK(sum(std::type_identity<as_device>(), false) == expected);
  CHECK(sum(std::type_identity<as_device>(), true) == expected);
}

TEST_CASE("gradient reduction: a rank that fails in the midst of sums in place ends the others") {
  auto const run = [] {
    in_process::run(3, [&](endpoint& inner) {
      door_in_parts door(inner);
      rank_with_gradients mine;
      as_device reduction(mine.values(), mine.layer_of_entry, {&door, &door}, all_reduce_choice("ring"), 30.0, true);
      mine.fill(door.rank(), 0);
      reduction.start(door, space(), 0);
      for (int turn = 0; turn < 4; ++turn) reduction.advance();
      if (door.rank() == 1) throw weft::error("rank 1 has had enough");
      reduction.start(door, space(), 1);
      reduction.finish(door, space());
    });
  };
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("rank 1 has had enough"), weft::error);
}

TEST_CASE("gradient reduction: a library within each vendor, in place across; a host among them") {
  namespace schedule = weft::schedule;
  auto const program = schedule::lower(
      schedule::write_table<schedule::one_f_one_b>(2, 2).view(),
      {.tied = schedule::tied_stages::none, .optimizer = false, .receives = schedule::receive_time::at_use});
  using library = weft_test::host_library<false>;
  // Groups of two have one order of additions: that of the step list by groups.
  auto const expected = sums("hhhhh", all_reduce_choice("hierarchical:0,1,0,2,2"));
  outcome found{std::vector<std::vector<float>>(5), std::vector<std::size_t>(5)};
  in_process::run(5, [&](endpoint& inner) {
    bool const is_host = inner.rank() == 1;
    std::vector<std::vector<int>> const members{{0, 2}, {}, {0, 2}, {3, 4}, {3, 4}};
    door_in_parts in_parts(inner);
    weft::transport::library_door<library> door(in_parts, program.view(), library(),
                                                {.members = members[static_cast<std::size_t>(inner.rank())]});
    weft::transport::vendor_groups groups(door, space::memory_space::name(), !is_host, 30.0);
    all_reduce_choice const how("hierarchical:nccl");
    if (is_host)
      sum_twice<on_host>(groups, how, false, found);
    else
      sum_twice<as_device>(groups, how, false, found);
  });
  for (std::size_t rank = 0; rank < 5; ++rank) {
    CHECK(found.gradients[rank] == expected.gradients[rank]);
    CHECK((found.bytes[rank] > 0) == (rank < 2 || rank == 3));  // who leads has segments, and nobody mirrors
  }
}
