// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"
#include "text_file.hpp"

#include <weft/schedule/csv.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/stage_graph.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// Tables with what PyTorch's grammar has no room for: a first line "# weft-table 1 ...", and "@<version>" behind a
/// cell. The grammar is in docs/weft_schedule.md.

namespace weft_schedule {

/// The first line's facts.
struct table_head {
  bool present = false;
  int ranks = 0;          ///< 0: not said
  int micro_batches = 0;  ///< 0: not said
  int copies = 1;
  int versions = 1;
  bool asynchronous = false;
  bool stashes_weights = true;
  int steps_before = 0;
};

/// What is missing from PyTorch's grammar, in words; empty where nothing is.
inline std::string beyond_pytorch(weft::schedule::program_view const& table) {
  if (table.graph.copies > 1) return "two copies of the model";
  if (table.work.asynchronous || table.carry.versions > 1) return "versions of the weights";
  for (int rank = 0; rank < table.ranks(); ++rank)
    for (auto const& each : table.row(rank)) {
      if (each.version != 0) return "versions of the weights";
      if (each.what == weft::schedule::op::norm || each.what == weft::schedule::op::step) return "the optimizer's step";
    }
  return "";
}

namespace detail {

/// `text` with a version behind every cell that has one. Cells come in the order of the actions.
inline std::string with_versions(std::string const& text, weft::schedule::program_view const& table) {
  std::vector<std::uint8_t> versions;
  for (int rank = 0; rank < table.ranks(); ++rank)
    for (auto const& each : table.row(rank))
      if (each.what != weft::schedule::op::none) versions.push_back(each.version);
  std::string result;
  std::size_t next = 0;
  bool open = false;
  bool behind_pair = false;
  for (char const letter : text) {
    bool const ends = letter == ',' || letter == ';' || letter == ')' || letter == '\n';
    if (ends && open) {
      if (versions[next] != 0) result += '@' + std::to_string(versions[next]);
      ++next;
      open = false;
    } else if (!ends && letter != '(' && !behind_pair) {
      open = true;
    }
    if (ends) behind_pair = letter == ')';
    result += letter;
  }
  return result;
}

/// Takes "@<version>" out of `text`; the versions, one per action.
inline std::vector<std::uint8_t> take_versions(std::string& text, std::string const& path) {
  std::vector<std::uint8_t> versions;
  std::string plain;
  bool open = false;
  bool behind_pair = false;
  int version = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    char const letter = at < text.size() ? text[at] : '\n';
    bool const ends = letter == ',' || letter == ';' || letter == ')' || letter == '\n';
    if (ends && open) {
      versions.push_back(static_cast<std::uint8_t>(version));
      open = false;
      version = 0;
    } else if (letter == '@' && open) {
      auto const* const begin = text.data() + at + 1;
      auto const [end, problem] = std::from_chars(begin, text.data() + text.size(), version);
      if (problem != std::errc() || end == begin || version < 0 || version > 255)
        throw usage_error(printable(path, 200) + ": \"" + printable(std::string_view(text).substr(at, 12)) +
                          "\" is no version of the weights; write @ and a number from 0 to 255");
      at += static_cast<std::size_t>(end - begin);
      continue;
    } else if (!ends && letter != '(' && letter != ' ' && letter != '\t' && letter != '\r' && letter != '"' &&
               !behind_pair) {
      open = true;
    }
    if (ends) behind_pair = letter == ')';
    if (at < text.size()) plain += letter;
  }
  text = std::move(plain);
  return versions;
}

inline weft::schedule::program with_versions(weft::schedule::program_view const& table,
                                             std::vector<std::uint8_t> const& versions) {
  weft::schedule::program result(table.name, weft::topology::stage_graph::copy_of(table.graph), table.micro_batches,
                                 table.work, static_cast<int>(versions.size()));
  std::size_t next = 0;
  for (int rank = 0; rank < table.ranks(); ++rank) {
    for (auto each : table.row(rank)) {
      each.version = versions[next++];
      result.append(each);
    }
    result.end_row();
  }
  return result;
}

}  // namespace detail

/// Takes lines that begin with '#' from the top of `text`, and reads the first.
inline table_head take_head(std::string& text, std::string const& path) {
  table_head head;
  std::string_view const mark = "# weft-table ";
  bool first = true;
  while (!text.empty() && text[0] == '#') {
    std::size_t const end = text.find('\n') < text.size() ? text.find('\n') : text.size();
    std::string const line = text.substr(0, end);
    text.erase(0, end < text.size() ? end + 1 : end);
    if (!std::exchange(first, false) || line.compare(0, mark.size(), mark) != 0) continue;
    head.present = true;
    std::string_view rest = std::string_view(line).substr(mark.size());
    auto const complain = [&](std::string_view word, std::string const& what) {
      throw usage_error(printable(path, 200) + ": first line, \"" + printable(word) + "\": " + what);
    };
    bool is_format = true;
    while (!rest.empty()) {
      std::string_view const word = rest.substr(0, rest.find_first_of(" \r\t"));
      rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : rest.size());
      if (word.empty()) continue;
      if (std::exchange(is_format, false)) {
        if (word != "1") complain(word, "is no known format of tables; 1 is known");
        continue;
      }
      std::size_t const equals = word.find('=');
      if (equals == std::string_view::npos) complain(word, "is not key=value");
      std::string_view const key = word.substr(0, equals);
      std::string_view const value = word.substr(equals + 1);
      if (key == "name") continue;
      if (key == "placement") {
        if (value == "two-way") head.copies = 2;
        if (value != "two-way" && value != "rows") complain(word, "placements are rows and two-way");
        continue;
      }
      int number = -1;
      auto const [after, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (problem != std::errc() || after != value.data() + value.size() || number < 0 || number > (1 << 20))
        complain(word, "is not a whole number from 0 to 2^20");
      if (key == "ranks")
        head.ranks = number;
      else if (key == "micro-batches")
        head.micro_batches = number;
      else if (key == "copies" && (number == 1 || number == 2))
        head.copies = number;
      else if (key == "versions" && number >= 1 && number <= 255)
        head.versions = number;
      else if (key == "asynchronous" && number <= 1)
        head.asynchronous = number == 1;
      else if (key == "stash" && number <= 1)
        head.stashes_weights = number == 1;
      else if (key == "steps-before" && number <= 255)
        head.steps_before = number;
      else
        complain(word,
                 "is not known; keys are name, ranks, micro-batches, placement, copies (1 or 2), versions (1 .. 255), "
                 "asynchronous and stash (0 or 1), and steps-before (0 .. 255)");
    }
  }
  return head;
}

/// A table with its carry, which a `program` does not keep.
struct read_table {
  weft::schedule::program table;
  int versions = 1;
  weft::schedule::csv_problem problem;
  std::string cell;  ///< what `problem.cell` points to

  [[nodiscard]] weft::schedule::program_view view() const {
    auto result = table.view();
    result.carry.versions = versions;
    return result;
  }
};

/// Reads a text without its head.
inline read_table parse_table(std::string text, table_head const& head, bool old_letters, std::string const& path) {
  std::vector<std::uint8_t> versions;
  if (head.present) versions = detail::take_versions(text, path);
  weft::schedule::csv_options options;
  options.copies = head.copies;
  options.micro_batches = head.micro_batches;
  options.old_letters = old_letters;
  options.work.asynchronous = head.asynchronous;
  options.work.stashes_weights = head.stashes_weights;
  options.work.versions = head.versions;
  options.work.steps_before = head.steps_before;
  auto result = weft::schedule::parse_csv(text, options);
  read_table read;
  read.versions = head.versions;
  read.problem = result.problem;
  read.cell = printable(result.problem.cell);
  read.problem.cell = {};
  if (!result.problem.ok()) return read;
  read.table = std::move(result.table);
  if (static_cast<std::size_t>(read.table.action_count()) == versions.size())
    read.table = detail::with_versions(read.table.view(), versions);
  return read;
}

/// Whether two tables are the same but for their names.
inline bool same_table(weft::schedule::program_view const& one, weft::schedule::program_view const& other) {
  if (one.ranks() != other.ranks() || one.stages() != other.stages() || one.micro_batches != other.micro_batches ||
      one.graph.copies != other.graph.copies)
    return false;
  for (int which = 0; which < one.stages() * one.graph.copies; ++which)
    if (one.graph.rank_of_stage[which] != other.graph.rank_of_stage[which]) return false;
  for (int rank = 0; rank < one.ranks(); ++rank) {
    auto const mine = one.row(rank);
    auto const others = other.row(rank);
    if (mine.size != others.size) return false;
    for (int index = 0; index < mine.size; ++index)
      if (mine[index] != others[index]) return false;
  }
  return true;
}

/// A table as text: PyTorch's grammar alone where that can hold it. Throws `usage_error` where `strict` is asked for
/// and it cannot.
inline std::string write_table_text(weft::schedule::program_view const& table, bool strict) {
  std::string const more = beyond_pytorch(table);
  if (strict && !more.empty())
    throw usage_error("--strict-pytorch: '" + std::string(table.name) + "' has " + more +
                      ", for which PyTorch's tables have no room; leave the option out");
  std::string text = weft::schedule::write_csv(table);
  std::string head;
  if (!more.empty()) {
    head = "# weft-table 1 name=" + std::string(table.name) + " ranks=" + std::to_string(table.ranks()) +
           " micro-batches=" + std::to_string(table.micro_batches) +
           " placement=" + (table.graph.copies > 1 ? "two-way" : "rows") +
           " copies=" + std::to_string(table.graph.copies);
    if (table.work.asynchronous || table.carry.versions > 1)
      head += " versions=" +
              std::to_string(table.carry.versions > table.work.versions ? table.carry.versions : table.work.versions) +
              " asynchronous=" + (table.work.asynchronous ? "1" : "0") +
              " stash=" + (table.work.stashes_weights ? "1" : "0") +
              (table.work.steps_before > 0 ? " steps-before=" + std::to_string(table.work.steps_before) : "");
    head += '\n';
    text = detail::with_versions(text, table);
  }
  // What cannot be read again must not be written.
  std::string again = head;
  read_table const read = parse_table(text, take_head(again, "table"), false, "table");
  if (!read.problem.ok() || !same_table(read.view(), table))
    throw usage_error("'" + std::string(table.name) +
                      "' holds what tables have no room for; use --format json, or leave out --lower");
  return head + text;
}

}  // namespace weft_schedule
