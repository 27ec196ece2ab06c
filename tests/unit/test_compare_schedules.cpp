// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/schedule/compare_schedules.hpp>
#include <weft/schedule/make_program.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace weft::schedule;

namespace {

compared_schedule const& line_of(std::vector<compared_schedule> const& lines, std::string_view name) {
  for (auto const& line : lines)
    if (name == line.entry->name) return line;
  FAIL("no line for ", std::string(name));
  return lines.front();
}

}  // namespace

TEST_CASE("compare: legal schedules by time, then those left out, each with its reason") {
  schedule_wish wish;
  wish.activations = 4.0;
  auto const lines = compare_schedules(4, 8, wish);
  bool out = false;
  double before = 0.0;
  for (auto const& line : lines) {
    CAPTURE(line.entry->name);
    if (line.figures.why != left_out::none) out = true;
    CHECK((line.figures.why != left_out::none) == out);  // none legal behind the first that is not
    CHECK(explain(line).empty() == (line.figures.why == left_out::none));
    if (out) continue;
    CHECK(line.figures.makespan >= before - 1e-9);
    before = line.figures.makespan;
    CHECK(line.figures.activations <= 4.0);
  }
  CHECK(line_of(lines, "zb-h1").figures.why == left_out::none);
  CHECK(line_of(lines, "zb-h1").figures.makespan == 27.0);
  CHECK(explain(line_of(lines, "gpipe")) == "left out: a rank keeps 8 activations at its peak, and the limit is 4");
  CHECK(explain(line_of(lines, "serial")).rfind("left out: the serial schedule runs on 1 rank;", 0) == 0);
  CHECK(explain(line_of(lines, "dualpipe")) == "left out: it holds 2 copies of the weights, and 1 may be held");
  CHECK(explain(line_of(lines, "forward_only")) == "left out: it runs forwards alone");
}

TEST_CASE("compare: schedules with several stages per rank take their part of the rank's time and activations") {
  auto const lines = compare_schedules(4, 8);
  auto const& interleaved = line_of(lines, "interleaved-1f1b");
  CHECK(interleaved.figures.chunks == 2);
  CHECK(interleaved.figures.makespan == 24.0 + 4.5);  // half of 1F1B's bubble
  CHECK(interleaved.figures.activations == 5.5);
  CHECK(line_of(lines, "1f1b").figures.makespan == 33.0);
  schedule_wish wish;
  wish.chosen.chunks = 4;
  CHECK(line_of(compare_schedules(4, 8, wish), "interleaved-1f1b").figures.makespan == 24.0 + 2.25);
}

TEST_CASE("compare: a line's costs outlive what asked for them") {
  std::vector<compared_schedule> lines;
  {
    schedule_wish wish;
    wish.costs.hop = 1.5;
    lines = compare_schedules(4, 8, wish);
  }
  auto const& line = line_of(lines, "zero-bubble-auto");
  REQUIRE(line.used.costs == line.costs.get());
  CHECK(line.used.costs->hop == 1.5);
  CHECK(line.entry->table(line.used, 4, 8).view().ranks() == 4);
}

TEST_CASE("compare: bytes of activations, weight contexts and copies of the weights") {
  schedule_wish wish;
  wish.bytes = 1000;
  wish.weight_bytes = 400;
  wish.activation_bytes = 100;
  wish.weight_context_bytes = 20;
  wish.copies = 2;
  auto const lines = compare_schedules(4, 8, wish);
  CHECK(line_of(lines, "1f1b").figures.bytes == 400 + 4 * 100);
  CHECK(line_of(lines, "zb-h1").figures.bytes == 400 + 4 * 100 + 4 * 20);
  CHECK(line_of(lines, "gpipe").figures.why == left_out::too_many_bytes);
  CHECK(explain(line_of(lines, "gpipe")) == "left out: a rank needs 1200 bytes, and the limit is 1000");
  CHECK(line_of(lines, "dualpipe").figures.why == left_out::too_many_bytes);  // 800 for the weights alone
  for (auto const& line : lines)
    if (line.figures.why == left_out::none) CHECK(line.figures.bytes <= 1000);
}

TEST_CASE("auto: the best of all under the limit, by name") {
  for (int limit : {0, 1, 4})
    for (double hop : {0.0, 1.5}) {
      CAPTURE(limit);
      cost_model const model{.every = {1.0, 1.5, 0.5}, .hop = hop};
      schedule_wish wish;
      wish.costs = model;
      wish.activations = limit;
      auto const table = make_table("auto", 4, 8, {.memory_limit = limit, .costs = &model});
      auto const found = figures_of_candidate(table.view(), wish);
      CHECK(found.why == left_out::none);
      CHECK(found.makespan == doctest::Approx(compare_schedules(4, 8, wish).front().figures.makespan));
      CHECK(make_program("Automatic", 4, 8, {}, {.memory_limit = limit, .costs = &model}).view().is_lowered);
    }
  CHECK_THROWS_AS(make_table("auto", 4, 8, {.memory_limit = -1}), weft::error);
}
