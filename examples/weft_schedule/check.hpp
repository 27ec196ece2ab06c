// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "defect_names.hpp"
#include "request.hpp"
#include "text_file.hpp"
#include "weft_table.hpp"

#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/verdict.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace weft_schedule {

inline weft::schedule::send_model send_model_of(std::string const& name) {
  using weft::schedule::send_model;
  if (name == "buffered") return send_model::buffered;
  if (name == "rendezvous") return send_model::rendezvous;
  if (name == "in-issue-order") return send_model::in_issue_order;
  if (name == "blocking") return send_model::blocking;
  throw usage_error("--sends: \"" + printable(name) +
                    "\" is not known; use buffered, rendezvous, in-issue-order or blocking");
}

namespace detail {

/// Whether `letters` stand between a stage and a micro-batch anywhere.
inline bool has_letters(std::string_view text, std::string_view letters) {
  auto const is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  for (std::size_t at = text.find(letters); at != std::string_view::npos; at = text.find(letters, at + 1)) {
    std::size_t const after = at + letters.size();
    if (at > 0 && is_digit(text[at - 1]) && after < text.size() && is_digit(text[after])) return true;
  }
  return false;
}

/// "rank 0, stage 4, micro-batch -2" of a cell "4B-2", as far as it says.
inline std::string place_of(weft::schedule::csv_problem const& problem, std::string const& cell) {
  std::string place;
  auto const add = [&place](std::string const& what, std::string const& value) {
    if (value.empty()) return;
    if (!place.empty()) place += ", ";
    place += what + ' ' + value;
  };
  if (problem.row > 0) add("rank", std::to_string(problem.row - 1));
  std::size_t const letters = cell.find_first_not_of("0123456789");
  if (problem.what == weft::schedule::csv_fault::stage_nowhere) add("stage", std::to_string(problem.value));
  if (letters == std::string::npos || cell[0] == '(') return place;
  add("stage", cell.substr(0, letters));
  std::size_t const number = cell.find_first_of("-0123456789", letters);
  if (number != std::string::npos) add("micro-batch", cell.substr(number));
  return place;
}

inline std::string place_of(weft::schedule::verdict const& found) {
  std::string place;
  auto const add = [&place](char const* what, int value) {
    if (value < 0) return;
    if (!place.empty()) place += ", ";
    place += what + (' ' + std::to_string(value));
  };
  add("rank", found.rank);
  add("stage", found.stage);
  add("micro-batch", found.micro_batch);
  return place;
}

inline std::string in_brackets(std::string const& place) { return place.empty() ? "" : " (" + place + ")"; }

/// A table whose largest numbers promise far more work than its cells hold would cost memory for nothing.
inline bool is_mostly_holes(weft::schedule::program_view const& table, int actions) {
  std::int64_t const wanted = std::int64_t{table.stages()} * table.graph.copies * table.micro_batches;
  return wanted > std::int64_t{4} * actions + 100000;
}

inline bool has_posts(weft::schedule::program_view const& table) {
  for (int rank = 0; rank < table.ranks(); ++rank)
    for (auto const& each : table.row(rank))
      if (weft::schedule::traits_of(each.what).is_post) return true;
  return false;
}

}  // namespace detail

/// What a check found: one line, and the exit status.
struct checked {
  int status = 0;
  std::string line;
};

/// Plays a table under a send model. One without posts is lowered for models that ask for more than it says.
inline weft::schedule::verdict play_under(weft::schedule::program_view const& table, weft::schedule::send_model model) {
  using namespace weft::schedule;
  verdict found = play(table, model);
  if (!found.playable() || detail::has_posts(table) || model == send_model::buffered ||
      model == send_model::rendezvous || table.work.asynchronous)
    return found;
  program const lowered = lower_once(table, {.receives = receives_under(model)});
  verdict const stricter = play(lowered.view(), model);
  if (!stricter.playable()) found = stricter;
  return found;
}

inline checked check_text(std::string const& whole, request const& asked) {
  using namespace weft::schedule;
  std::string const name = printable(asked.file, 200) + ": ";
  send_model const model = send_model_of(asked.sends);
  std::string text = whole;
  table_head head = take_head(text, asked.file);
  if (asked.copies != 0) head.copies = asked.copies;
  std::string hint;
  bool const finds_old = detail::has_letters(text, "BW");
  bool const old = asked.old_letters || finds_old;
  if (finds_old && !asked.old_letters)
    hint = " [BW: PyTorch's old letters; read as B = input gradient, W = weight gradient, BW = both; write I, W and B]";

  read_table read = parse_table(text, head, old, asked.file);
  if (read.problem.what == csv_fault::stage_on_two_ranks && !head.present && asked.copies == 0) {
    // Stages on two rows: of two copies of the model, if every one is where a second copy would be.
    table_head two_way = head;
    two_way.copies = 2;
    read_table other = parse_table(text, two_way, old, asked.file);
    if (other.problem.ok() && !detail::is_mostly_holes(other.view(), other.table.action_count())) {
      defect const what = play(other.view()).what;
      if (what != defect::wrong_rank && what != defect::out_of_range && what != defect::two_copies) {
        hint += " [read as two copies of the model, entering at both ends]";
        read = std::move(other);
      }
    }
  }
  if (!read.problem.ok()) {
    csv_problem problem = read.problem;
    problem.cell = read.cell;
    std::string words = explain(problem);
    std::string const lead = "weft::schedule::csv: ";
    if (words.rfind(lead, 0) == 0) words.erase(0, lead.size());
    return {
        is_of_the_table(problem.what) ? 1 : 2,
        name + name_of(problem.what) + detail::in_brackets(detail::place_of(problem, read.cell)) + ": " + words + hint};
  }
  program_view const table = read.view();
  if (head.ranks != 0 && head.ranks != table.ranks())
    return {1, name + "wrong-ranks (rank " + std::to_string(table.ranks()) + "): the first line says " +
                   std::to_string(head.ranks) + " ranks, and there are " + std::to_string(table.ranks()) +
                   " rows; write one line per rank"};
  std::string const size =
      counted(table.stages(), "stage") + " and " + std::to_string(table.micro_batches) + " micro-batches";
  if (detail::is_mostly_holes(table, read.table.action_count()))
    return {1, name + "missing-forward (rank " + std::to_string(table.graph.rank_of_stage[table.stages() - 1]) +
                   ", stage " + std::to_string(table.stages() - 1) + ", micro-batch " +
                   std::to_string(table.micro_batches - 1) + "): " + size + " need at least as many forwards, and " +
                   counted(read.table.action_count(), "action") +
                   " can be read here; add what is missing, or correct the largest numbers" + hint};
  verdict const found = play_under(table, model);
  if (found.what == defect::duplicate_weight && !old && !detail::has_letters(text, "I")) {
    // W without any I: of PyTorch's old files, if it is legal when read so.
    request again = asked;
    again.old_letters = true;
    again.copies = head.copies;
    checked const other = check_text(whole, again);
    if (other.status == 0)
      return {0, other.line + " [PyTorch's old letters: B is read as the input gradient; write I]"};
  }
  if (found.playable())
    return {0,
            name + "legal with " + asked.sends + " sends: " + counted(table.ranks(), "rank") + ", " +
                counted(table.stages(), "stage") + ", " +
                (table.micro_batches == 1 ? "1 micro-batch" : std::to_string(table.micro_batches) + " micro-batches") +
                ", " + counted(found.actions, "action") + "; peak activations " +
                std::to_string(found.peak_activations) + hint};
  return {1, name + name_of(found.what) + detail::in_brackets(detail::place_of(found)) + ": " + explain(found) + hint};
}

inline int check(request const& asked) {
  send_model_of(asked.sends);
  checked const result = check_text(read_text(asked.file), asked);
  std::fprintf(result.status == 0 ? stdout : stderr, "%s\n", result.line.c_str());
  return result.status;
}

}  // namespace weft_schedule
