// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "every_schedule.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/registry.hpp>

#include <set>
#include <string>
#include <string_view>

using namespace weft::schedule;

namespace {

/// The shapes a schedule takes: chunks, groups, waves, each with its default too.
template <class Body>
void for_each_shape(schedule_entry const& entry, Body&& body) {
  for (int chunks = 0; chunks <= (entry.parameters.chunks ? 4 : 0); ++chunks)
    for (int group : {0, 1, 3, 4, 8}) {
      if (group != 0 && !entry.parameters.group) continue;
      for (int waves = 0; waves <= (entry.parameters.waves && chunks == 0 ? 2 : 0); ++waves)
        body(shape{.chunks = chunks, .group = group, .waves = waves});
    }
}

/// Schedules that search take a second for what others do in a millisecond; they have tests of their own.
bool searches(schedule_entry const& entry) {
  std::string_view const name = entry.name;
  return name == "latency-aware" || name == "automatic" || name == "auto";
}

}  // namespace

TEST_CASE("registry: every legal shape up to 8 ranks, 16 micro-batches and 4 chunks lowers and plays, with slots") {
  int cases = 0;
  for (schedule_entry const& entry : schedules) {
    if (searches(entry)) continue;
    for_each_shape(entry, [&](shape const& chosen) {
      for (int ranks = 1; ranks <= 8; ++ranks)
        for (int micro_batches = 1; micro_batches <= 16; ++micro_batches) {
          validity const rules = entry.check(chosen, ranks, micro_batches);
          every_schedule::shape_of_case const at{&entry, chosen, ranks, micro_batches};
          INFO(at.text());
          if (!rules.legal()) {
            CHECK(std::string(words_of(rules.broken)) != "a rule is broken");
            continue;
          }
          program const table = entry.table(chosen, ranks, micro_batches);
          verdict proof;
          program const lowered = lower(table.view(), {}, &proof);
          if (!proof.playable()) FAIL_CHECK(explain(proof));
          int rank_with_work = 0;
          for (int which = 0; which < lowered.view().stages() * lowered.view().graph.copies; ++which)
            if (lowered.view().slots[which].activation > 0) ++rank_with_work;
          if (rank_with_work == 0) FAIL_CHECK("no stage has slots");
          ++cases;
        }
    });
  }
  CHECK(cases > 4000);
}

TEST_CASE("registry: the nearest legal value is legal, and nearer to what was asked than nothing") {
  for (schedule_entry const& entry : schedules)
    for (int ranks = -1; ranks <= 9; ++ranks)
      for (int micro_batches = -1; micro_batches <= 20; ++micro_batches) {
        validity found = entry.check({}, ranks, micro_batches);
        every_schedule::shape_of_case const at{&entry, {}, ranks, micro_batches};
        INFO(at.text());
        int p = ranks;
        int m = micro_batches;
        // Follow the advice: a rule is about one of the two; at most one step for each of them, and one more.
        for (int step = 0; step < 4 && !found.legal(); ++step) {
          bool const about_ranks = found.broken == rule::needs_a_rank || found.broken == rule::needs_even_ranks ||
                                   found.broken == rule::needs_exactly_one_rank;
          REQUIRE(found.value == (about_ranks ? p : m));
          (about_ranks ? p : m) = found.nearest;
          found = entry.check({}, p, m);
        }
        CHECK(found.legal());
      }
}

TEST_CASE("registry: names and aliases are unique, written as they are compared, and every entry says what it is") {
  std::set<std::string> names;
  for (schedule_entry const& entry : schedules) {
    CAPTURE(entry.name);
    CHECK(names.insert(name_key(entry.name)).second);
    std::string_view rest = entry.aliases;
    while (!rest.empty()) {
      std::string const alias(rest.substr(0, rest.find(' ')));
      CAPTURE(alias);
      CHECK(alias == name_key(alias));
      CHECK((names.insert(alias).second || alias == name_key(entry.name)));
      rest.remove_prefix(alias.size() < rest.size() ? alias.size() + 1 : rest.size());
    }
    for (char const* text : {entry.rule, entry.idle, entry.peak, entry.weights, entry.use, entry.paper})
      CHECK(std::string_view(text).size() > 0);
    CHECK(find_schedule(entry.name) == &entry);
  }
}

TEST_CASE("registry: a shape that a schedule does not take is refused, in words") {
  CHECK_THROWS_WITH_AS(make_table("1f1b", 2, 4, {.chunks = 2}),
                       "weft::schedule::1f1b: this schedule has a number of chunks of its own; leave chunks out, or "
                       "choose one that takes them (asked for 2, nearest legal 1)",
                       weft::error);
  CHECK(make_table("1f1b", 2, 4, {.chunks = 1}).view().stages() == 2);
  CHECK_THROWS_WITH_AS(make_table("gpipe", 2, 4, {.waves = 1}),
                       "weft::schedule::gpipe: this schedule has no waves; leave them out, or choose wave",
                       weft::error);
  CHECK_THROWS_WITH_AS(
      make_table("gpipe", 2, 4, {.memory_limit = 1}),
      "weft::schedule::gpipe: this schedule takes no memory limit; leave it out, or choose one that searches",
      weft::error);
}
