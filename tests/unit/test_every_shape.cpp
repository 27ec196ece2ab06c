// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The sweep: every schedule of the registry on 1 .. 8 ranks, with 1 .. 16 micro-batches and 1 .. 4 chunks, is either
// refused with its rule and a nearest legal value, or proved under rendezvous and in the order of issue.

#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/registry.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace weft::schedule;

namespace {

struct tally {
  int proved = 0;
  int refused = 0;
};

/// Refused: in words that name the schedule and, where the rule is about a number, the nearest legal one.
void is_refused_in_words(schedule_entry const& entry, validity const& found) {
  std::string const words = explain(found, entry.name);
  CHECK(words.find("weft::schedule::" + std::string(entry.name) + ": ") == 0);
  CHECK(std::string(words_of(found.broken)) != "a rule is broken");
  CHECK((words.find("nearest legal") != std::string::npos) == has_nearest(found.broken));
}

/// Proved: by rows whose posts are early, and by rows whose receives are posted where they are used.
void is_proved(program_view const& table) {
  verdict proof;
  program const early = lower(table, {}, &proof);
  CHECK(explain(proof) == "");
  CHECK(proof.model == send_model::rendezvous);
  CHECK(explain(play(early.view(), send_model::rendezvous)) == "");
  program const late = lower(table, {.receives = receive_time::at_use});
  CHECK(explain(play(late.view(), send_model::in_issue_order)) == "");
  CHECK(explain(play(late.view(), send_model::rendezvous)) == "");
}

}  // namespace

TEST_CASE("every shape: up to 8 ranks, 16 micro-batches and 4 chunks, proved under both send models or refused") {
  tally all;
  for (schedule_entry const& entry : schedules) {
    tally mine;
    int const most_chunks = entry.chooses == choice::none ? 4 : 1;  // what looks at the others takes theirs
    for (int chunks = 1; chunks <= most_chunks; ++chunks)
      for (int ranks = 1; ranks <= 8; ++ranks)
        for (int micro_batches = 1; micro_batches <= 16; ++micro_batches) {
          shape const chosen{.chunks = chunks};
          INFO(entry.name << ", " << ranks << " ranks, " << micro_batches << " micro-batches, " << chunks << " chunks");
          validity const found = entry.check(chosen, ranks, micro_batches);
          if (!found.legal()) {
            is_refused_in_words(entry, found);
            ++mine.refused;
            continue;
          }
          program const table = entry.table(chosen, ranks, micro_batches);
          CHECK(table.view().micro_batches == micro_batches);
          CHECK(table.view().ranks() == ranks);
          is_proved(table.view());
          ++mine.proved;
        }
    INFO(entry.name);
    CHECK(mine.proved + mine.refused == most_chunks * 8 * 16);
    CHECK(mine.proved > 0);
    all.proved += mine.proved;
    all.refused += mine.refused;
  }
  MESSAGE(all.proved << " shapes proved, " << all.refused << " refused");
}
