// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>

#include "every_schedule.hpp"
#include "schedule_support.hpp"
#include "slow_reading.hpp"
#include "support/sweep.hpp"

#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

// Damaged tables and programs of every schedule: refused, or as valid as undamaged ones by a second, independent
// reading.

using namespace weft::schedule;
using schedule_support::editable;

namespace {

enum class damage {
  dropped,
  doubled,
  swapped,
  moved,
  other_rank,
  other_stage,
  beyond_the_last,
  other_letter,
  post_reversed,
  version_off,
  other_slot,
  other_micro_batch,
  other_copy,
  torn,
  count
};
constexpr int damages = static_cast<int>(damage::count);
constexpr char const* names[damages] = {"action dropped",     "action doubled",        "swapped with a neighbour",
                                        "moved in its row",   "given to another rank", "given another stage",
                                        "no micro-batch",     "letter changed",        "post reversed",
                                        "version off by one", "slot changed",          "other micro-batch",
                                        "other copy",         "half of a pair marked"};

bool is_post(action const& cell) { return cell.what >= op::send_forward && cell.what <= op::receive_backward; }

/// False where nothing could be changed in this way.
bool hurt(editable& program, damage kind, std::mt19937& random) {
  auto const below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  auto& row = program.rows[below(program.rows.size())];
  if (row.empty()) return false;
  std::size_t const at = below(row.size());
  auto const place = [](std::size_t index) { return static_cast<std::ptrdiff_t>(index); };
  action& cell = row[at];
  switch (kind) {
    case damage::dropped: row.erase(row.begin() + place(at)); return true;
    case damage::doubled: row.insert(row.begin() + place(below(row.size() + 1)), action(cell)); return true;
    case damage::swapped:
      if (at + 1 == row.size() || cell == row[at + 1]) return false;
      std::swap(cell, row[at + 1]);
      return true;
    case damage::moved: {
      action const taken = cell;
      row.erase(row.begin() + place(at));
      std::size_t const into = below(row.size() + 1);
      row.insert(row.begin() + place(into), taken);
      return into != at;
    }
    case damage::other_rank: {
      auto& other = program.rows[below(program.rows.size())];
      if (&other == &row) return false;
      action const taken = cell;
      row.erase(row.begin() + place(at));
      other.insert(other.begin() + place(below(other.size() + 1)), taken);
      return true;
    }
    case damage::other_stage: {
      auto const stage = static_cast<std::uint16_t>(below(static_cast<std::size_t>(program.origin.stages()) + 1));
      if (stage == cell.stage || cell.what == op::norm) return false;
      cell.stage = stage;
      return true;
    }
    case damage::beyond_the_last:
      if (cell.what == op::norm) return false;
      cell.micro_batch = static_cast<std::uint32_t>(program.origin.micro_batches + static_cast<int>(random() % 3));
      return true;
    case damage::other_letter: {
      auto const what = static_cast<op>(1 + random() % (op_count - 1));
      if (what == cell.what || what == op::unshard || what == op::reshard) return false;
      cell.what = what;
      return true;
    }
    case damage::post_reversed:
      if (!is_post(cell)) return false;
      cell.what = cell.what == op::send_forward      ? op::receive_forward
                  : cell.what == op::receive_forward ? op::send_forward
                  : cell.what == op::send_backward   ? op::receive_backward
                                                     : op::send_backward;
      return true;
    case damage::version_off:
      if (!traits_of(cell.what).is_compute) return false;
      cell.version = static_cast<std::uint8_t>(cell.version + (random() % 2 == 0 ? 1 : 255));
      return true;
    case damage::other_slot:
      if (!program.origin.is_lowered || !(is_post(cell) || traits_of(cell.what).is_compute)) return false;
      cell.slot = static_cast<std::uint16_t>(cell.slot + 1 + random() % 2);
      return true;
    case damage::other_micro_batch: {
      auto const other = static_cast<std::uint32_t>(below(static_cast<std::size_t>(program.origin.micro_batches)));
      if (other == cell.micro_batch || !(is_post(cell) || traits_of(cell.what).is_compute)) return false;
      cell.micro_batch = other;
      return true;
    }
    case damage::other_copy:
      if (cell.what == op::norm) return false;
      cell.copy = static_cast<std::uint8_t>(cell.copy == 0 ? 1 : 0);
      return true;
    case damage::torn:
      if (!traits_of(cell.what).is_compute || cell.what == op::recompute) return false;
      cell.part = cell.part == parts::whole ? static_cast<std::uint8_t>(1 + random() % 2) : parts::whole;
      return true;
    case damage::count: return false;
  }
  return false;
}

struct size_of_case {
  int ranks;
  int micro_batches;
  int steps_before;
};

struct tally {
  int damaged = 0;
  int refused = 0;
  int valid = 0;       ///< accepted, and valid by the second reading
  int let_pass = 0;    ///< accepted, and wrong by it
  int too_strict = 0;  ///< refused, and valid by it
};

void try_all(program_view const& program, std::mt19937& random, int rounds, std::array<tally, damages>& results,
             std::string const& what) {
  for (int kind = 0; kind < damages; ++kind)
    for (int round = 0; round < rounds; ++round) {
      editable edited(program);
      if (!hurt(edited, static_cast<damage>(kind), random)) continue;
      tally& mine = results[static_cast<std::size_t>(kind)];
      ++mine.damaged;
      verdict const found = edited.play();
      std::string const wrong = slow_reading::wrong_with(edited.view());
      if (found.playable())
        ++(wrong.empty() ? mine.valid : mine.let_pass);
      else
        ++(wrong.empty() ? mine.too_strict : mine.refused);
      if (found.playable() == wrong.empty()) continue;
      INFO(what << ", " << names[kind] << ", round " << round << ": play says '" << explain(found)
                << "', the second reading '" << wrong << "'");
      CHECK(found.playable() == wrong.empty());
    }
}

}  // namespace

TEST_CASE("mutations: damaged tables and programs of every schedule are refused, or valid by a second reading") {
  std::array<tally, damages> results{};
  int undamaged = 0;
  int accepted = 0;
  std::mt19937 random(20261130);
  for (schedule_entry const& entry : schedules)
    for (auto const& [ranks, micro_batches, before] :
         {size_of_case{2, 4, 0}, {3, 5, 0}, {4, 8, 0}, {2, 4, 1}, {4, 8, 1}}) {
      if (before > 0 && !entry.parameters.steps_before) continue;
      shape const chosen{.steps_before = before};
      if (!entry.check(chosen, ranks, micro_batches).legal()) continue;
      auto const table = entry.table(chosen, ranks, micro_batches);
      std::vector<program> programs;
      programs.push_back(lower(table.view()));
      programs.push_back(lower(table.view(), {.reduce_over_data = true, .receives = receive_time::at_use}));
      programs.push_back(lower(table.view(), {.recompute = true, .reduce_over_copies = true}));
      std::vector<program_view> views{table.view()};
      for (auto const& each : programs) views.push_back(each.view());
      for (auto const& each : views) {
        std::string const what = std::string(entry.name) + " " + std::to_string(ranks) + " x " +
                                 std::to_string(micro_batches) + (each.is_lowered ? ", lowered" : ", table");
        CAPTURE(what);
        ++undamaged;
        CHECK(explain(play(each)) == "");
        CHECK(slow_reading::wrong_with(each) == "");
        accepted += play(each).playable() && slow_reading::wrong_with(each).empty();
        try_all(each, random, weft_test::is_sanitized ? 2 : 8, results, what);
      }
    }
  CHECK(accepted == undamaged);
  tally all;
  std::printf("%-28s %9s %9s %9s\n", "damage", "programs", "refused", "valid");
  for (int kind = 0; kind < damages; ++kind) {
    tally const& mine = results[static_cast<std::size_t>(kind)];
    std::printf("%-28s %9d %9d %9d\n", names[kind], mine.damaged, mine.refused, mine.valid);
    CHECK(mine.let_pass == 0);
    CHECK(mine.too_strict == 0);
    CHECK(mine.damaged > 50);
    all.damaged += mine.damaged;
    all.refused += mine.refused;
    all.valid += mine.valid;
  }
  std::printf("%-28s %9d %9d %9d; undamaged: %d of %d accepted\n", "all", all.damaged, all.refused, all.valid, accepted,
              undamaged);
  CHECK(all.refused > 9 * all.valid);
}
