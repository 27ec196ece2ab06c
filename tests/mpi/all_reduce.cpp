// ranks: 1 2 3 4
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_reduce_checks.hpp"

#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/no_library.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/vendor_groups.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using weft::collective::all_reduce_choice;
using weft::transport::running_all_reduce;

namespace {

/// The worst over ranks, so that all of them see the same; as weft waits, since ranks may outnumber cores.
int worst(weft::transport::endpoint& door, bool is_right) {
  double wrong = is_right ? 0.0 : 1.0;
  weft::transport::all_reduce_sum(door, &wrong, 1);
  return static_cast<int>(wrong);
}

/// By MPI_Iallreduce; the sums are small integers, so every order of additions gives the same bits.
template <class Number>
bool library_is_right(weft::transport::endpoint& door, std::int64_t elements) {
  running_all_reduce<Number> running(door, all_reduce_choice("mpi"), elements, weft::schedule::running_tag(0));
  bool is_right = true;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<Number> data(static_cast<std::size_t>(elements) + 1, Number(-77));
    for (std::int64_t each = 0; each < elements; ++each)
      data[static_cast<std::size_t>(each)] = static_cast<Number>((each + turn) % 100 * (door.rank() + 1));
    running.start(data.data());
    running.wait(60.0);
    int const factor = door.size() * (door.size() + 1) / 2;
    for (std::int64_t each = 0; each < elements; ++each)
      is_right = is_right && data[static_cast<std::size_t>(each)] == static_cast<Number>((each + turn) % 100 * factor);
    is_right = is_right && data.back() == Number(-77);
  }
  return is_right;
}

}  // namespace

TEST_CASE("mpi all-reduce: the bits of play_locally, for every policy, from nothing to megabytes") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  int const ranks = door.size();
  for (char const* const name : weft::collective::all_reduce_names) {
    CAPTURE(name);
    all_reduce_choice const how(name);
    bool is_right = true;
    for (std::int64_t const elements : {0, 1, 2, ranks - 1, ranks, ranks + 1, 100003})
      is_right = weft_test::sums_are_right<float>(door, how, elements, 0) && is_right;
    is_right = weft_test::sums_are_right<double>(door, how, 100003, 4096) && is_right;
    is_right = weft_test::sums_are_right<double>(door, how, 1009, 3) && is_right;
    is_right = weft_test::sums_are_right<float>(door, how, 1200007, 0, 1) && is_right;
    CHECK(worst(door, is_right) == 0);
  }
}

TEST_CASE("mpi all-reduce: the library's own") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  bool is_right = true;
  for (std::int64_t const elements : {0, 1, 2, 5, 100003}) {
    is_right = library_is_right<float>(door, elements) && is_right;
    is_right = library_is_right<double>(door, elements) && is_right;
  }
  CHECK(worst(door, is_right) == 0);
}

TEST_CASE("mpi all-reduce: by vendors, where no rank has a library, is recursive halving, also through such a door") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  auto const program = weft::schedule::make_program<weft::schedule::one_f_one_b>(
      door.size(), 2, {.receives = weft::schedule::receive_time::at_use});
  weft::transport::library_door<weft::transport::no_library> outer(door, program.view(), {},
                                                                   {.members = std::vector<int>{}});
  for (weft::transport::endpoint* const each : std::vector<weft::transport::endpoint*>{&door, &outer}) {
    weft::transport::vendor_groups by_vendor(*each, "Host", false);
    bool is_right = by_vendor.groups() == door.size() && by_vendor.leads() && by_vendor.library() == nullptr;
    for (std::int64_t const elements : {0, 1, 1009, 100003}) {
      weft_test::fenced_buffer<float> data(door.rank(), elements);
      running_all_reduce<float> sum(by_vendor, all_reduce_choice("hierarchical:nccl"), elements,
                                    weft::schedule::running_tag(0));
      sum.start(data.data());
      sum.wait(60.0);
      auto const list = weft::collective::recursive_halving::all_reduce(door.size());
      is_right = is_right && data.holds(weft_test::expected_sums<float>(list, elements));
    }
    CHECK(worst(door, is_right) == 0);
  }
}

TEST_CASE("mpi all-reduce: several under way, weft's and the library's, completed in each rank's own order") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  char const* const names[] = {"ring", "mpi", "recursive-doubling", "tree", "mpi", "hierarchical", "recursive-halving"};
  constexpr std::size_t count = std::size(names);
  std::vector<std::unique_ptr<running_all_reduce<float>>> running;
  for (std::size_t index = 0; index < count; ++index)
    running.push_back(std::make_unique<running_all_reduce<float>>(door, all_reduce_choice(names[index]), 40000,
                                                                  weft::schedule::running_tag(static_cast<int>(index)),
                                                                  weft::transport::all_reduce_options{1000}));
  bool is_right = true;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<std::vector<float>> data(count, std::vector<float>(40000, static_cast<float>(door.rank() + turn)));
    for (std::size_t index = 0; index < count; ++index) running[index]->start(data[index].data());
    auto const first = static_cast<std::size_t>(door.rank() + turn);
    for (std::size_t each = 0; each < count; ++each)
      running[(first + each) % count]->wait(60.0, [&] {
        for (auto& other : running) static_cast<void>(other->advance());
      });
    int const sum = door.size() * (door.size() - 1) / 2 + turn * door.size();
    for (auto const& buffer : data)
      for (float const each : buffer) is_right = is_right && each == static_cast<float>(sum);
  }
  CHECK(worst(door, is_right) == 0);
}

TEST_CASE("mpi all-reduce: subgroups of four ranks as 2 x 2, rows and columns at once") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  bool is_right = true;
  if (door.size() == 4) {
    int const row = door.rank() / 2;
    int const column = door.rank() % 2;
    auto const mine = make_subgroup(door, {2 * row, 2 * row + 1}, true);
    auto const across = make_subgroup(door, {2 + column, column}, true);  // in reverse
    is_right = mine->rank() == column && across->rank() == 1 - row && across->global_rank(0) == 2 + column;
    for (char const* const name : weft::collective::all_reduce_names) {
      is_right = weft_test::sums_are_right<float>(*mine, all_reduce_choice(name), 10007, 500) && is_right;
      is_right = weft_test::sums_are_right<double>(*across, all_reduce_choice(name), 10007, 500) && is_right;
    }
    is_right = library_is_right<float>(*mine, 5003) && library_is_right<double>(*across, 3) && is_right;

    running_all_reduce<float> a(*mine, all_reduce_choice("mpi"), 3000, weft::schedule::running_tag(0));
    running_all_reduce<float> b(*across, all_reduce_choice("ring"), 3000, weft::schedule::running_tag(1));
    std::vector<float> in_row(3000, static_cast<float>(door.rank()));
    std::vector<float> in_column(3000, static_cast<float>(door.rank()));
    a.start(in_row.data());
    b.start(in_column.data());
    (row == 0 ? a : b).wait(60.0, [&] { static_cast<void>((row == 0 ? b : a).advance()); });
    (row == 0 ? b : a).wait(60.0);
    is_right = is_right && in_row.back() == static_cast<float>(4 * row + 1);
    is_right = is_right && in_column.front() == static_cast<float>(2 + 2 * column);

    // A group of three, which the fourth rank is not asked about.
    if (door.rank() != 1) {
      auto const three = make_subgroup(door, {3, 0, 2}, true);
      is_right = weft_test::sums_are_right<float>(*three, all_reduce_choice("ring"), 501, 0) && is_right;
      is_right = library_is_right<float>(*three, 100) && is_right;
    }
  }
  CHECK(worst(door, is_right) == 0);
}

TEST_CASE("mpi all-reduce: a rank that fails in the midst ends all with its own words") {
  for (char const* const name : {"ring", "recursive-halving", "mpi"}) {
    CAPTURE(name);
    std::string heard;
    // Memory that an abandoned send may still be read from, or the library may still write: kept for ever. So small
    // that no message is a rendezvous: an abandoned one makes MPI_Finalize end some builds of UCX with an assertion.
    constexpr int elements = 600;
    auto& data = *new std::vector<float>(elements, 1.0F);
    {
      weft::transport::mpi door(MPI_COMM_WORLD);
      int const failing = door.size() - 1;
      auto& running =
          *new running_all_reduce<float>(door, all_reduce_choice(name), elements, 32001, {.segment_elements = 20});
      try {
        weft::transport::guarded(door, [&] {
          if (door.size() == 1) throw weft::remote_error("enough");
          if (door.rank() == failing && std::string(name) == "mpi") throw weft::error("enough");
          running.start(data.data());
          for (int each = 0; each < 3; ++each) static_cast<void>(running.advance());
          if (door.rank() == failing) throw weft::error("enough");
          running.wait(60.0);
        });
      } catch (weft::error const& failure) {
        heard = failure.what();
      }
      static_cast<void>(running.give_up());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(heard == "enough");
  }
}
