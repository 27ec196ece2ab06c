// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/topology/placement.hpp>

using namespace weft;

namespace {

/// Writes its last backward twice, on the last rank.
struct talkative : schedule::gpipe {
  static constexpr char const* name = "talkative";
  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    schedule::gpipe::write_row(rank, ranks, micro_batches, put);
    if (rank == ranks - 1) put(schedule::op::backward, rank, 0);
  }
};

/// Writes much more than there is room for, on the first rank.
struct endless : schedule::gpipe {
  static constexpr char const* name = "endless";
  template <class Writer>
  static constexpr void write_row(int rank, int, int, Writer& put) {
    for (int index = 0; index < 100000; ++index) put(schedule::op::forward, rank, 0);
  }
};

}  // namespace

TEST_CASE("program: a policy that writes more than its ranks have work for is named") {
  CHECK_THROWS_WITH_AS(schedule::write_table<talkative>(3, 4),
                       "weft::schedule::talkative: write_row puts 9 actions into the row of rank 2, whose stages have "
                       "work for 8; write each action once, and state chunks and splits_backward as they are",
                       error);
  CHECK_THROWS_WITH_AS(schedule::make_program<endless>(2, 3),
                       doctest::Contains("weft::schedule::endless: write_row puts 100000 actions into the row of rank "
                                         "0, whose stages have work for 6"),
                       error);
  CHECK(schedule::write_table<schedule::gpipe>(3, 4).action_count() == 24);
}

TEST_CASE("program: rows by hand end at the capacity") {
  schedule::program table("hand", topology::stage_graph::chain(1), 1, {}, 2);
  table.append(schedule::make_action(schedule::op::forward, 0, 0));
  table.append(schedule::make_action(schedule::op::backward, 0, 0));
  CHECK(table.room() == 0);
  CHECK_THROWS_WITH_AS(
      table.append(schedule::make_action(schedule::op::backward, 0, 0)),
      "weft::schedule::program: 'hand' has room for 2 actions, and more are written; construct it with "
      "their number",
      error);
  CHECK_THROWS_AS(table.advance(1), error);
  table.end_row();
  CHECK_THROWS_WITH_AS(table.end_row(), doctest::Contains("has room for 1 rows"), error);
  CHECK(table.view().row(0).size == 2);
}

TEST_CASE("tags: what is sent point to point never shares a tag") {
  namespace tags = schedule::tags;
  CHECK(schedule::tie_tag(0, 0) == tags::first_tied);
  CHECK(schedule::tie_tag(1, 0) == schedule::tie_tag(0, tags::sites_per_group - 1) + 1);
  CHECK(schedule::tie_tag(tags::groups - 1, tags::sites_per_group - 1) < tags::state);
  CHECK_THROWS_WITH_AS(
      schedule::tie_tag(2, 16),
      "weft::schedule::tie_tag: there is no tag for use site 16 of tie group 2; number groups 0 .. 117 "
      "and sites 0 .. 15",
      error);
  CHECK_THROWS_AS(schedule::tie_tag(tags::groups, 0), error);
  CHECK_THROWS_AS(schedule::tie_tag(-1, 0), error);
  // A chain over two ranks, forward alone: with the last edge that fits, and with one more.
  auto const played = [](int edges) {
    schedule::program table("long", topology::stage_graph::chain(edges + 1).place(topology::placement::loop{}, 2), 1,
                            {.backward = false}, edges + 1);
    for (int rank = 0; rank < 2; ++rank) {
      for (int stage = rank; stage <= edges; stage += 2)
        table.append(schedule::make_action(schedule::op::forward, stage, 0));
      table.end_row();
    }
    return schedule::play(schedule::lower_once(table.view()).view());
  };
  CHECK(played(15000).playable());
  CHECK(played(15000).largest_tag == 29998);
  auto const beyond = played(15001);
  CHECK(beyond.what == schedule::defect::tag_out_of_range);
  CHECK(schedule::explain(beyond).find("tag 30000 is above 29999") == 0);
}
