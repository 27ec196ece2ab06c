// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vector_tables.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace weft::schedule;

namespace {

double longest_span(program const& table, cost_model const& model) {
  auto const found = cost(table.view(), model);
  CHECK(found.complete);
  return found.longest_span;
}

}  // namespace

TEST_CASE("cost: the makespan and the idle time of every published table") {
  int compared = 0;
  for (auto const& known : vector_tables::index()) {
    CAPTURE(known.file);
    auto const table = vector_tables::read(known);
    std::vector<rank_time> times(static_cast<std::size_t>(known.ranks));
    auto const found = cost(table.view(), {}, nullptr, times.data());
    CHECK(found.complete);
    CHECK(found.makespan == known.makespan);
    std::string idle;
    for (auto const& each : times)
      idle += (idle.empty() ? "" : " ") + std::to_string(std::lround(found.makespan - each.busy));
    CHECK(idle == known.idle);
    ++compared;
  }
  CHECK((compared >= 59 || published::folder().empty()));
}

TEST_CASE("cost: the zero-bubble paper's bubble rates of 1F1B and ZB-H1 to four decimals, from its measured times") {
  for (auto const& known : vector_tables::zero_bubble_paper) {
    CAPTURE(known.micro_batches);
    cost_model const model{.every = {known.forward, known.input, known.weight}, .hop = known.hop};
    auto const rate = [&](program const& table) { return figures_of(table.view(), model).bubble_rate; };
    CHECK(std::abs(rate(write_table<one_f_one_b>(8, known.micro_batches)) - known.one_f_one_b) <= 0.5001e-4);
    CHECK(std::abs(rate(write_table<zero_bubble_h1>(8, known.micro_batches)) - known.h1) <= 0.5001e-4);
  }
}

TEST_CASE("cost: closed forms with a hop time, for the rank with the longest span") {
  // T_c small against the passes, M a multiple of p: what a hop adds is a whole number of hops.
  double const hop = 1.0 / 256;
  for (auto const& [forward, input, weight] : {std::array{1.0, 1.0, 1.0}, {2.0, 2.0, 1.0}, {3.0, 4.0, 2.0}})
    for (int ranks : {2, 3, 4, 8})
      for (int cycles : {2, 3, 5}) {
        CAPTURE(ranks);
        CAPTURE(cycles);
        int const count = ranks * cycles;
        double const pass = forward + input + weight;
        cost_model const model{.every = {forward, input, weight}, .hop = hop};
        CHECK(longest_span(write_table<one_f_one_b>(ranks, count), model) ==
              (count + ranks - 1) * pass + (2 * (ranks - 1) * cycles + 2 * (ranks - 2)) * hop);
        CHECK(longest_span(write_table<zero_bubble_h1>(ranks, count), model) ==
              count * pass + (ranks - 1) * (forward + input - weight + 4 * hop));
      }
  for (int ranks : {2, 3, 4})
    for (int chunks : {2, 3, 4}) {
      CAPTURE(ranks);
      CAPTURE(chunks);
      int const count = 4 * ranks;
      CHECK(longest_span(write_table(ranks, count, interleaved_1f1b_values{chunks, 0}), {.hop = hop}) ==
            chunks * count * 3.0 + (ranks - 1) * 3.0 + (2 * ranks * chunks - 2) * hop);
    }
}

TEST_CASE("cost: schedules that are equal without a hop time separate with one") {
  CHECK(cost(write_table<gpipe>(4, 16).view()).makespan == cost(write_table<one_f_one_b>(4, 16).view()).makespan);
  CHECK(cost(write_table<gpipe>(4, 16).view(), {.hop = 0.125}).makespan <
        cost(write_table<one_f_one_b>(4, 16).view(), {.hop = 0.125}).makespan);
}

TEST_CASE("cost: layers split over two vendors where both stages take equally long, the head counted") {
  // 32 layers of LLaMA-8B on NVIDIA (549.7 TFLOP/s) and then AMD (534.9), the head as 2.409 layers: arXiv 2602.18007.
  auto const best_split = [](double head) {
    auto const table = write_table<one_f_one_b>(2, 64);
    int best = 0;
    double shortest = 0.0;
    for (int first = 1; first < 32; ++first) {
      double const nvidia = first / 549.7;
      double const amd = (32 - first + head) / 534.9;
      stage_cost const stages[] = {{nvidia, nvidia, nvidia}, {amd, amd, amd}};
      double const time = cost(table.view(), {.stages = stages}).makespan;
      if (best != 0 && time >= shortest) continue;
      best = first;
      shortest = time;
    }
    return best;
  };
  CHECK(best_split(2.409) == 17);
  CHECK(best_split(0.0) == 16);
}

TEST_CASE("cost: ZB-H1 lies between 1F1B and no bubble, in the ranges that were published") {
  for (auto const& known : vector_tables::zero_bubble_paper) {
    cost_model const model{.every = {known.forward, known.input, known.weight}, .hop = known.hop};
    double const first = figures_of(write_table<one_f_one_b>(8, known.micro_batches).view(), model).bubble_rate;
    double const second = figures_of(write_table<zero_bubble_h1>(8, known.micro_batches).view(), model).bubble_rate;
    CHECK(first >= 0.109);
    CHECK(first <= 0.265);
    CHECK(second < first);
    CHECK(second > 0.0);
  }
}
