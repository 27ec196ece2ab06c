// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/cost.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/play.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <random>

using namespace weft::schedule;

namespace {

std::string why(std::string_view text, csv_options const& options = {}) {
  return explain(parse_csv(text, options).problem);
}

constexpr bool parses_while_compiling() {
  auto const read = parse_csv("0F0,0B0\n1F0,1B0\n");
  return read.problem.ok() && play(read.table.view()).playable() && read.table.view().ranks() == 2;
}
static_assert(parses_while_compiling());
static_assert(parse_csv("0F0,0Q1").problem.column == 2);

}  // namespace

TEST_CASE("csv: single cells as PyTorch writes them") {
  struct known {
    char const* token;
    int stage;
    op what;
    int micro_batch;
  };
  for (auto const& each :
       {known{"1F0", 1, op::forward, 0}, known{"2I1", 2, op::backward_input, 1},
        known{"0W3", 0, op::backward_weight, 3}, known{"0B3", 0, op::backward, 3},
        known{"0SEND_F3", 0, op::send_forward, 3}, known{"12RECV_B40", 12, op::receive_backward, 40}}) {
    std::string text;
    for (int stage = 0; stage < each.stage; ++stage) text += std::to_string(stage) + "F0\n";
    auto const read = parse_csv(text + each.token);
    REQUIRE(read.problem.ok());
    auto const cell = read.table.view().row(each.stage)[0];
    CHECK(cell.what == each.what);
    CHECK(cell.stage == each.stage);
    CHECK(static_cast<int>(cell.micro_batch) == each.micro_batch);
  }
}

TEST_CASE("csv: what is written is read again") {
  for (char const* name : {"gpipe", "1f1b", "forward_only"})
    for (int ranks : {1, 2, 5}) {
      auto const made = make_program(name, ranks, 4);
      std::string const text = write_csv(made.view());
      auto const again = read_csv(text);
      CHECK(write_csv(again.view()) == text);
      CHECK(again.view().micro_batches == 4);
      CHECK(play(again.view()).playable());
      CHECK(again.view().work.backward == made.view().work.backward);
    }
}

TEST_CASE("csv: line ends, spaces, quotes, empty cells and a missing last newline do not matter") {
  std::string const plain = write_csv(read_csv("0F0,0B0\n1F0,1B0\n").view());
  for (char const* text : {"0F0,0B0\r\n1F0,1B0\r\n", "0F0,0B0\n1F0,1B0", " 0F0 ,\t0B0\n1F0 , 1B0 \n\n\n",
                           "0F0,,0B0,,\n,1F0,1B0,\n", "\"0F0\",\"0B0\"\n\"1F0\",\"1B0\"\n"})
    CHECK(write_csv(read_csv(text).view()) == plain);
}

TEST_CASE("csv: errors name row, column and cell") {
  CHECK(why("") == "weft::schedule::csv: the table has no rows; write one line per rank");
  CHECK(why("\n\n") == why(""));
  CHECK(why("0F0\n1F0,,F1\n") ==
        "weft::schedule::csv: row 2, column 3, cell \"F1\": does not begin with a stage number; write "
        "<stage><action><micro-batch>");
  CHECK(why("0F0,0Q1").find("row 1, column 2, cell \"0Q1\": is not a known action") != std::string::npos);
  CHECK(why("0F0,0F").find("does not end with a micro-batch") != std::string::npos);
  CHECK(why("0F0,0F1x").find("is not a known action") != std::string::npos);
  CHECK(why("0F99999999999999999999").find("a number does not fit") != std::string::npos);
  CHECK(why("70000F0").find("a number does not fit") != std::string::npos);
  CHECK(why("(0F0;0B0").find("is not a fused pair") != std::string::npos);
  CHECK(why("(0F0)OVERLAP_F_B").find("is not a fused pair") != std::string::npos);
  CHECK(why("0F0\n0B0\n").find("stage 0 is on row 1 too") != std::string::npos);
  CHECK(why("0F0,2F0\n").find("stage 1 is on no row although stage 2 is") != std::string::npos);
  CHECK(why("0F0,0F4,0B0\n", {.micro_batches = 4}).find("micro-batch 4 is outside 0 .. 3") != std::string::npos);
  CHECK(why(published::negative_micro_batch) ==
        "weft::schedule::csv: row 1, column 4, cell \"0B-1\": micro-batch -1 is below 0; they count from 0");
  CHECK_THROWS_AS(read_csv("0F0,0Q1"), weft::error);
}

TEST_CASE("csv: rubbish never crashes the reader") {
  std::mt19937 random(7);
  std::string const letters = "0123456789FBIWRSEND_RECV,;()\n\r -\"";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (unsigned long length = random() % 40; length > 0; --length) text += letters[random() % letters.size()];
    auto const read = parse_csv(text);
    if (read.problem.ok() && read.table.view().ranks() * read.table.view().micro_batches < 100000)
      play(read.table.view());
    else
      explain(read.problem);
  }
  CHECK(true);
}

TEST_CASE("csv: older letters, fused pairs and two model copies") {
  auto const old = read_csv("0F0,0B0,0W0,0F1,0BW1\n", {.old_letters = true});
  CHECK(write_csv(old.view()) == "0F0,0I0,0W0,0F1,0B1\n");
  auto const fused = read_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  CHECK(schedule_support::letters(fused.view().row(0)) == "F0 F1 B0 B1");
  CHECK(fused.view().row(0)[1].part == parts::fused_forward);
  CHECK(fused.view().row(0)[2].part == parts::fused_backward);
  CHECK(write_csv(fused.view()) == "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  CHECK(why("0F0,(0B0;0F1)OVERLAP_F_B").find("is not a fused pair") != std::string::npos);
  auto const chimera = read_csv(
      "0F0,0F1,1F2,1B2,0B0,1F3,1B3,0B1,1SYNC,0SYNC\n0F2,1F0,1B0,0F3,0B2,1F1,1B1,0B3,1SYNC,0SYNC\n", {.copies = 2});
  CHECK(chimera.view().graph.copies == 2);
  CHECK(explain(play(chimera.view())) == "");
}

TEST_CASE("csv: the whole collection, where WEFT_VECTORS_DIR names it") {
  std::string const folder = published::folder();
  if (folder.empty()) {
    MESSAGE("WEFT_VECTORS_DIR is not set; the embedded tables are tested alone");
    return;
  }
  std::istringstream index(published::read_file(folder + "/index.csv"));
  std::string line;
  REQUIRE(std::getline(index, line));
  int tables = 0;
  while (std::getline(index, line)) {
    auto const fields = published::split(line, ',');
    CAPTURE(fields[0]);
    bool const fused = fields[1].rfind("dualpipe", 0) == 0;
    auto const table =
        read_csv(published::read_file(folder + "/" + fields[0]),
                 {.micro_batches = std::stoi(fields[4]), .copies = fields[5] == "bidirectional" ? 2 : 1});
    CHECK(explain(play(table.view())) == "");
    CHECK(schedule_support::peaks_of(table.view()) == fields[8]);
    // A fused pair is read as two actions, so that its parts may end earlier than the pair.
    auto const time = cost(table.view());
    if (fused)
      CHECK(time.makespan <= std::stod(fields[10]));
    else
      CHECK(time.makespan == std::stod(fields[10]));
    if (fields[1] == "gpipe" || fields[1] == "1f1b" || fields[1] == "zb_h1") {
      int const ranks = std::stoi(fields[2]);
      int const micro_batches = std::stoi(fields[4]);
      auto const ours = fields[1] == "gpipe"  ? write_table<gpipe>(ranks, micro_batches)
                        : fields[1] == "1f1b" ? write_table<one_f_one_b>(ranks, micro_batches)
                                              : write_table<zero_bubble_h1>(ranks, micro_batches);
      CHECK(write_csv(ours.view()) == write_csv(table.view()));
    }
    verdict proof;
    lower(table.view(), {}, &proof);
    CHECK(explain(proof) == "");
    ++tables;
  }
  CHECK(tables > 50);
  for (char const* name : {"/invalid/primus_1f1b_p4_v1_m2.csv", "/invalid/primus_1f1b-interleaved_p4_v2_m4.csv"})
    CHECK(!parse_csv(published::read_file(folder + name)).problem.ok());
  for (char const* name : {"interleaved_p2_v2_m4", "dualpipev_p2_v2_m4", "zbv_p2_v2_m4", "interleaved_zb1p_p4_v2_m8"}) {
    CAPTURE(name);
    auto const table = read_csv(published::read_file(folder + "/with_comms/" + name + ".csv"));
    CHECK(explain(play(table.view())) == "");
  }
}
