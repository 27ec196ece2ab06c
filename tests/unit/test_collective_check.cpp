// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/collective/all.hpp>

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
