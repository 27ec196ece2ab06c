// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/collective/all.hpp>
#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace weft::collective;

namespace {

static_assert(check(ring::all_reduce(5), goal::all_reduce).correct());
static_assert(check(binomial_tree::broadcast(6, 4), goal::broadcast, 4).correct());

}  // namespace

TEST_CASE("collective: every contribution arrives exactly once, on any number of ranks") {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    CAPTURE(ranks);
    CHECK(explain(check(ring::all_gather(ranks), goal::all_gather)) == "");
    CHECK(explain(check(ring::reduce_scatter(ranks), goal::reduce_scatter)) == "");
    CHECK(explain(check(ring::all_reduce(ranks), goal::all_reduce)) == "");
    CHECK(ring::all_reduce(ranks).size() == 2 * ranks * (ranks - 1));
    for (int root = 0; root < ranks; ++root) {
      CHECK(explain(check(binomial_tree::broadcast(ranks, root), goal::broadcast, root)) == "");
      CHECK(explain(check(binomial_tree::reduce(ranks, root), goal::reduce, root)) == "");
      CHECK(binomial_tree::broadcast(ranks, root).size() == ranks - 1);
    }
  }
  CHECK(binomial_tree::broadcast(17).rounds == 5);
  CHECK(binomial_tree::broadcast(16).rounds == 4);
}

TEST_CASE("collective: every named all-reduce on 1 to 40 ranks: complete, nothing twice, one nesting on all ranks") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    CAPTURE(ranks);
    std::vector<std::string> names(std::begin(all_reduce_names), std::end(all_reduce_names));
    for (int size = 1; size <= ranks + 1; size += size < 4 ? 1 : 5)
      names.push_back("hierarchical:" + std::to_string(size));
    for (auto const& name : names) {
      CAPTURE(name);
      auto const list = make_all_reduce(name, ranks);
      CHECK(list.ranks == ranks);
      CHECK(explain(check(list, goal::all_reduce)) == "");
      CHECK(has_one_association(list));
    }
    CHECK(explain(check(recursive_halving::reduce_scatter(ranks), goal::reduce_scatter)) == "");
    CHECK(explain(check(recursive_halving::all_gather(ranks), goal::all_gather)) == "");
  }
}

TEST_CASE("collective: the nesting of additions is what the headers' comments say") {
  auto const text = [](char const* name, int ranks, int chunk) {
    return association(make_all_reduce(name, ranks), chunk).text(ranks - 1);
  };
  CHECK(text("ring", 4, 1) ==
        "(1 + (0 + (2 + 3)))");  // from rank c + 1 round to rank c; sums name the lower side first
  CHECK(text("recursive-doubling", 4, 0) == "((0 + 1) + (2 + 3))");
  CHECK(text("recursive-doubling", 6, 0) == "(((0 + 1) + (2 + 3)) + (4 + 5))");
  CHECK(text("recursive-halving", 4, 0) == "((0 + 2) + (1 + 3))");
  CHECK(text("recursive-halving", 5, 4) == "((0 + 3) + (2 + (1 + 4)))");
  CHECK(text("tree", 4, 0) == "((0 + 2) + (1 + 3))");
  CHECK(text("hierarchical:2", 4, 0) == "((0 + 1) + (2 + 3))");
  CHECK(text("hierarchical", 9, 0) == text("hierarchical:3", 9, 0));
}

TEST_CASE("collective: groups of any sizes and members: complete, one nesting, each group's sum first") {
  auto const text = [](char const* name, int chunk) {
    auto const choice = all_reduce_choice(name);
    auto const groups = std::count(choice.name().begin(), choice.name().end(), ',') + 1;
    auto const list = choice.list(static_cast<int>(groups));
    CHECK(explain(check(list, goal::all_reduce)) == "");
    CHECK(has_one_association(list));
    return association(list, chunk).text(0);
  };
  CHECK(text("hierarchical:0,0,1,0,1", 0) == "((2 + 4) + (1 + (0 + 3)))");
  CHECK(text("hierarchical:7,7,2,2", 1) == "((0 + 1) + (2 + 3))");

  // Every division of 1 to 6 ranks into groups, and some larger ones.
  for (int ranks = 1; ranks <= 6; ++ranks) {
    int divisions = 1;
    for (int rank = 1; rank < ranks; ++rank) divisions *= rank + 1;  // rank r is in one of the groups 0 to r
    for (int number = 0; number < divisions; ++number) {
      std::vector<int> group_of;
      for (int rank = 0, rest = number; rank < ranks; rest /= rank + 1, ++rank) group_of.push_back(rest % (rank + 1));
      auto const list = all_reduce_by_groups(group_of.data(), ranks);
      CAPTURE(ranks);
      CAPTURE(number);
      REQUIRE(explain(check(list, goal::all_reduce)) == "");
      REQUIRE(has_one_association(list));
    }
  }
  std::vector<int> vendors;  // 21 of one and 12 of another, mixed
  for (int rank = 0; rank < 33; ++rank) vendors.push_back(rank % 5 < 3 || rank > 30 ? 1 : 0);
  auto const list = all_reduce_by_groups(vendors.data(), 33);
  CHECK(explain(check(list, goal::all_reduce)) == "");
  CHECK(has_one_association(list));
  int between = 0;
  for (step const& each : list.steps)
    if (vendors[static_cast<std::size_t>(each.from)] != vendors[static_cast<std::size_t>(each.to)]) ++between;
  CHECK(between == 4);  // halves of the buffer: two leaders exchange, there and back

  // The same additions in one process.
  std::vector<double> values{1.0, 1e16, -1e16, 1.0};
  std::vector<double*> buffers;
  for (double& each : values) buffers.push_back(&each);
  play_locally(make_all_reduce("hierarchical:0,1,1,0", 4), buffers.data(), 1);
  for (double const each : values) CHECK(each == 2.0);  // (1 + 1) + (1e16 - 1e16)
}

TEST_CASE("collective: names that do not exist are refused with those that do") {
  auto const refusal = [](auto&& call) {
    try {
      call();
    } catch (weft::error const& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  for (char const* const name :
       {"", "rings", "hierarchical:", "hierarchical:0", "hierarchical:-2", "hierarchical:2x", "hierarchical2",
        "hierarchical:0,", "hierarchical:0,,1", "hierarchical:0,-1", "hierarchical:0,1x", "binomial_tree", "MPI"}) {
    CAPTURE(name);
    auto const text = refusal([&] { static_cast<void>(all_reduce_choice(name)); });
    CHECK(text == refusal([&] { static_cast<void>(make_all_reduce(name, 3)); }));
    CHECK(text.find("weft::collective: there is no all-reduce \"" + std::string(name) +
                    "\"; choose one of ring, recursive-doubling, recursive-halving, tree, hierarchical, "
                    "hierarchical:G") == 0);
  }
  CHECK(refusal([] {
          static_cast<void>(make_all_reduce("hierarchical:0,0,1", 4));
        }).find("names the groups of 3 ranks, and there are 4; name each rank's group") != std::string::npos);
  CHECK(all_reduce_choice("mpi").is_library());
  CHECK(!all_reduce_choice("tree").is_library());
  CHECK(all_reduce_choice().name() == "ring");
  CHECK(refusal([] { static_cast<void>(all_reduce_choice("mpi").list(2)); }).find("has no step list") !=
        std::string::npos);
  CHECK(refusal([] { static_cast<void>(make_all_reduce("ring", 0)); }).find("ask for at least 1") != std::string::npos);
}

TEST_CASE("collective: play_locally adds in the order of the list") {
  // 1e16 + 1 loses the 1 in double, so the nesting shows.
  auto const play = [](char const* name, std::vector<double> values) {
    std::vector<double*> buffers;
    for (double& each : values) buffers.push_back(&each);
    play_locally(make_all_reduce(name, static_cast<int>(values.size())), buffers.data(), 1);
    for (double const each : values) CHECK(each == values.front());
    return values.front();
  };
  CHECK(play("recursive-doubling", {1.0, 1.0, 1e16, -1e16}) == 2.0);  // (1 + 1) + (1e16 - 1e16)
  CHECK(play("tree", {1.0, 1.0, 1e16, -1e16}) == 0.0);                // (1 + 1e16) + (1 - 1e16)
  CHECK(play("ring", {1.0, 1e16, -1e16, 1.0}) == 2.0);                // chunk 0: ((1e16 - 1e16) + 1) + 1
  CHECK(play("tree", {7.0}) == 7.0);

  // Every element takes part exactly once, whatever the blocks; sums of small integers are exact.
  for (int ranks : {1, 2, 3, 5, 8})
    for (std::int64_t elements : {0, 1, 2, 7, 2047, 2048, 2049, 40001})
      for (char const* const name : all_reduce_names) {
        std::vector<std::vector<float>> all(static_cast<std::size_t>(ranks));
        std::vector<float*> buffers;
        for (int rank = 0; rank < ranks; ++rank) {
          auto& mine = all[static_cast<std::size_t>(rank)];
          for (std::int64_t element = 0; element < elements; ++element)
            mine.push_back(static_cast<float>((element * 7 + rank) % 1000));
          buffers.push_back(mine.data());
        }
        auto const before = all;
        play_locally(make_all_reduce(name, ranks), buffers.data(), elements);
        int wrong = 0;
        for (std::size_t element = 0; element < static_cast<std::size_t>(elements); ++element) {
          float sum = 0.0F;
          for (auto const& each : before) sum += each[element];
          for (auto const& each : all) wrong += each[element] != sum ? 1 : 0;
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("collective: an all-reduce is a reduce-scatter and an all-gather of one list") {
  for (int ranks : {2, 3, 5, 8}) {
    auto const whole = ring::all_reduce(ranks);
    auto const scatter = ring::reduce_scatter(ranks);
    auto const gather = ring::all_gather(ranks);
    for (int index = 0; index < scatter.size(); ++index) CHECK(whole.steps[index] == scatter.steps[index]);
    for (int index = 0; index < gather.size(); ++index) {
      step shifted = gather.steps[index];
      shifted.round += ranks - 1;
      CHECK(whole.steps[scatter.size() + index] == shifted);
    }
  }
}

TEST_CASE("collective: the checker finds what is wrong") {
  auto const fault = [](auto&& edit, goal wanted = goal::all_reduce) {
    auto list = ring::all_reduce(3);
    edit(list);
    return check(list, wanted).what;
  };
  CHECK(fault([](step_list& list) { list.steps[0].what = arrival::copy; }) != list_fault::none);
  CHECK(fault([](step_list& list) { list.steps[7].what = arrival::add; }) == list_fault::counted_twice);
  CHECK(fault([](step_list& list) { list.steps[7].chunk = 5; }) == list_fault::bad_step);
  CHECK(fault([](step_list& list) { list.steps[7].to = list.steps[7].from; }) == list_fault::bad_step);
  CHECK(fault([](step_list& list) { list.rounds = 3; }) == list_fault::bad_step);
  CHECK(fault([](step_list& list) { list.steps[1] = list.steps[0]; }) == list_fault::written_twice);
  CHECK(fault([](step_list& list) { list.steps[11].chunk = list.steps[8].chunk; }) != list_fault::none);
  CHECK(check(ring::reduce_scatter(4), goal::all_reduce).what == list_fault::missing);
  CHECK(check(binomial_tree::broadcast(4, 1), goal::broadcast, 0).what != list_fault::none);
  // A ring whose messages of one round all leave at once may not forward what it is just receiving.
  step_list hasty{3, 1, 1, weft::detail::buffer<step>(2)};
  hasty.steps[0] = step{0, 0, 1, 0, arrival::copy};
  hasty.steps[1] = step{0, 1, 2, 0, arrival::copy};
  CHECK(check(hasty, goal::broadcast).what == list_fault::read_while_written);
  CHECK(explain(check(hasty, goal::broadcast)).find("use a later round") != std::string::npos);
}

TEST_CASE("collective: chunks cover a buffer of any size") {
  for (std::int64_t elements : {0, 1, 2, 7, 8, 1000003})
    for (int chunks : {1, 2, 3, 8}) {
      CHECK(chunk_begin(elements, chunks, 0) == 0);
      CHECK(chunk_begin(elements, chunks, chunks) == elements);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        auto const size = chunk_begin(elements, chunks, chunk + 1) - chunk_begin(elements, chunks, chunk);
        CHECK(size >= elements / chunks);
        CHECK(size <= elements / chunks + 1);
      }
    }
}
