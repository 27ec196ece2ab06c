// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/program.hpp>
#include <weft/topology/placement.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// Tables as PyTorch writes them: one line per rank, cells parted by commas, empty cells for empty slots.
///
///     0F0,0F1,,0B0,0B1          cell = <stage><letters><micro-batch>, letters of op.hpp
///     ,1F0,1B0,1F1,1B1          (0F7;7B3)OVERLAP_F_B: a fused pair, two actions in that order (`parts`)
///
/// Only the order of the non-empty cells binds. Works while compiling (`parse_csv`).

namespace weft::inline v1::schedule {

enum class csv_fault : std::uint8_t {
  none,
  empty_table,
  no_stage_number,
  unknown_action,
  no_micro_batch,
  negative_micro_batch,
  number_too_large,
  unclosed_pair,
  stage_on_two_ranks,
  stage_nowhere,
  micro_batch_too_large,
  stage_too_large,
  table_too_large
};

/// What is wrong and where; row and column count from 1, `cell` points into the text.
struct csv_problem {
  csv_fault what = csv_fault::none;
  int row = 0;
  int column = 0;
  std::string_view cell;
  int value = 0;
  int limit = 0;

  [[nodiscard]] constexpr bool ok() const { return what == csv_fault::none; }
};

/// "weft::schedule::csv: row 1, column 4, cell \"0B-1\": micro-batch -1 is below 0; ..."
WEFT_SCHEDULES_INLINE std::string explain(csv_problem const& found);

struct csv_options {
  int stages = 0;            ///< 0: the largest found + 1
  int micro_batches = 0;     ///< 0: the largest found + 1
  int copies = 1;            ///< 2: two_way placement, micro-batches of the second half on copy 1
  bool old_letters = false;  ///< PyTorch's older files: B is the input gradient, BW the full backward
  work_set work = {};
  bool infer_work = true;  ///< forward-only where the table has no backward at all
  std::string_view name = "csv";
};

struct csv_result {
  program table;
  csv_problem problem;
};

namespace detail {

/// A cell taken apart; `micro_batch` is -1 for actions that have none.
struct csv_cell {
  op what = op::none;
  int stage = 0;
  int micro_batch = 0;
  std::uint8_t part = parts::whole;
};

class csv_reader {
 public:
  constexpr csv_reader(std::string_view whole, csv_options const& chosen) : text(whole), options(chosen) {}

  constexpr csv_result run() {
    csv_result result;
    if (!walk(false)) return fail();
    if (cells == 0) {
      problem.what = csv_fault::empty_table;
      return fail();
    }
    int const stages = options.stages > 0 ? options.stages : largest_stage + 1;
    int const micro_batches = options.micro_batches > 0 ? options.micro_batches : largest_micro_batch + 1;
    if (micro_batches > (1 << 28) / stages) {
      problem = csv_problem{csv_fault::table_too_large, 0, 0, {}, micro_batches, (1 << 28) / stages};
      return fail();
    }
    rank_of_stage = weft::detail::buffer<int>(stages * options.copies);
    for (int& rank : rank_of_stage) rank = -1;
    stage_count = stages;
    micro_batch_count = micro_batches;
    actions = weft::detail::buffer<action>(cells);
    row_end = weft::detail::buffer<int>(rows);
    if (!walk(true)) return fail();
    for (int stage = 0; stage < stages; ++stage)
      if (options.copies == 1 && rank_of_stage[stage] < 0) {
        problem = csv_problem{csv_fault::stage_nowhere, 0, 0, {}, stage, largest_stage};
        return fail();
      }
    topology::stage_graph graph = topology::stage_graph::chain(stages);
    if (options.copies == 2)
      graph.place(topology::placement::two_way{}, rows);
    else
      graph.place(topology::placement::map{rank_of_stage.data()}, rows);
    work_set work = options.work;
    if (options.infer_work) work.backward = any_backward;
    if (options.infer_work) work.post_validated = any_backward && any_validation;
    result.table = program(options.name, static_cast<topology::stage_graph&&>(graph), micro_batches, work, cells);
    int next = 0;
    for (int rank = 0; rank < rows; ++rank) {
      for (; next < row_end[rank]; ++next) result.table.append(actions[next]);
      result.table.end_row();
    }
    return result;
  }

 private:
  constexpr csv_result fail() {
    csv_result result;
    result.problem = problem;
    return result;
  }

  /// Reads every cell. The first time it counts, the second time it keeps.
  constexpr bool walk(bool keep) {
    std::size_t at = 0;
    int row = 0;
    int kept = 0;
    while (at < text.size()) {
      std::size_t end = at;
      while (end < text.size() && text[end] != '\n') ++end;
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (trimmed(line).empty() && trimmed(text.substr(at < text.size() ? at : text.size())).empty()) break;
      int column = 0;
      std::size_t begin = 0;
      while (begin <= line.size()) {
        std::size_t comma = begin;
        while (comma < line.size() && line[comma] != ',') ++comma;
        ++column;
        std::string_view const cell = trimmed(line.substr(begin, comma - begin));
        begin = comma + 1;
        if (cell.empty()) continue;
        csv_cell pair[2];
        int const count = read(cell, row + 1, column, pair);
        if (count == 0) return false;
        for (int index = 0; index < count; ++index) {
          if (!keep) {
            if (pair[index].stage > largest_stage) largest_stage = pair[index].stage;
            if (pair[index].micro_batch > largest_micro_batch) largest_micro_batch = pair[index].micro_batch;
            if (pair[index].what == op::backward || pair[index].what == op::backward_input) any_backward = true;
            if (pair[index].what >= op::partial_norm) any_validation = true;
            ++cells;
          } else if (!store(pair[index], cell, row, column, kept++)) {
            return false;
          }
        }
      }
      if (keep) row_end[row] = kept;
      ++row;
    }
    rows = row;
    return true;
  }

  constexpr bool store(csv_cell const& read_cell, std::string_view cell, int row, int column, int index) {
    if (read_cell.stage >= stage_count)
      return complain(csv_fault::stage_too_large, row + 1, column, cell, read_cell.stage, stage_count);
    if (read_cell.micro_batch >= micro_batch_count)
      return complain(csv_fault::micro_batch_too_large, row + 1, column, cell, read_cell.micro_batch,
                      micro_batch_count);
    action made = make_action(read_cell.what, read_cell.stage, read_cell.micro_batch < 0 ? 0 : read_cell.micro_batch);
    made.part = read_cell.part;
    if (options.copies == 2) {
      // Stage-wide actions have no micro-batch: the row says which copy is meant.
      bool const second =
          read_cell.micro_batch < 0 ? read_cell.stage % rows != row : read_cell.micro_batch >= micro_batch_count / 2;
      made.copy = second ? 1 : 0;
    } else if (!is_of_rank(made.what)) {
      int& rank = rank_of_stage[read_cell.stage];
      if (rank >= 0 && rank != row)
        return complain(csv_fault::stage_on_two_ranks, row + 1, column, cell, read_cell.stage, rank + 1);
      rank = row;
    }
    actions[index] = made;
    return true;
  }

  /// Takes a cell apart into one or two actions; 0 where it cannot.
  constexpr int read(std::string_view cell, int row, int column, csv_cell* out) {
    if (cell.front() != '(') return read_one(cell, cell, row, column, out[0]) ? 1 : 0;
    std::string_view const fused = ")OVERLAP_F_B";
    std::size_t const middle = cell.find(';');
    std::size_t const close = cell.find(')');
    if (middle == std::string_view::npos || close == std::string_view::npos || middle > close ||
        cell.substr(close) != fused)
      return complain(csv_fault::unclosed_pair, row, column, cell), 0;
    if (!read_one(trimmed(cell.substr(1, middle - 1)), cell, row, column, out[0]) ||
        !read_one(trimmed(cell.substr(middle + 1, close - middle - 1)), cell, row, column, out[1]))
      return 0;
    if (out[0].what != op::forward || (out[1].what != op::backward && out[1].what != op::backward_input))
      return complain(csv_fault::unclosed_pair, row, column, cell), 0;
    out[0].part = parts::fused_forward;
    out[1].part = parts::fused_backward;
    return 2;
  }

  constexpr bool read_one(std::string_view token, std::string_view cell, int row, int column, csv_cell& out) {
    std::size_t at = 0;
    for (op const what : {op::norm, op::partial_norm, op::validate})
      if (token == traits_of(what).letters) {
        out = csv_cell{what, 0, -1};
        return true;
      }
    if (!read_number(token, at, out.stage)) return complain(csv_fault::no_stage_number, row, column, cell);
    if (out.stage < 0 || out.stage >= 65535) return complain(csv_fault::number_too_large, row, column, cell);
    std::size_t const begin = at;
    while (at < token.size() && (is_letter(token[at]) || token[at] == '_')) ++at;
    out.what = find(token.substr(begin, at - begin));
    if (out.what == op::none) return complain(csv_fault::unknown_action, row, column, cell);
    if (out.what >= op::reduce_gradient) {
      // Stage-wide actions: a number behind them is allowed and means nothing.
      int ignored = 0;
      if (at < token.size() && !read_number(token, at, ignored))
        return complain(csv_fault::unknown_action, row, column, cell);
      out.micro_batch = -1;
    } else {
      bool const negative = at < token.size() && token[at] == '-';
      if (negative) ++at;
      if (!read_number(token, at, out.micro_batch)) return complain(csv_fault::no_micro_batch, row, column, cell);
      if (negative) return complain(csv_fault::negative_micro_batch, row, column, cell, -out.micro_batch);
      if (out.micro_batch < 0) return complain(csv_fault::number_too_large, row, column, cell);
    }
    return at == token.size() || complain(csv_fault::unknown_action, row, column, cell);
  }

  [[nodiscard]] constexpr op find(std::string_view letters) const {
    if (options.old_letters) {
      if (letters == "B") return op::backward_input;
      if (letters == "BW") return op::backward;
    }
    if (letters == "SYNC") return op::reduce_gradient;
    if (letters == "OVERLAP_F_B" || letters.empty()) return op::none;
    for (int index = 1; index < op_count; ++index)
      if (letters == traits_of(static_cast<op>(index)).letters) return static_cast<op>(index);
    return op::none;
  }

  /// Digits at `at`; -1 where they exceed 2^20. False where there are none.
  static constexpr bool read_number(std::string_view token, std::size_t& at, int& value) {
    std::size_t const begin = at;
    long long sum = 0;
    for (; at < token.size() && token[at] >= '0' && token[at] <= '9'; ++at)
      if (sum < (1LL << 40)) sum = sum * 10 + (token[at] - '0');
    value = sum <= (1LL << 20) ? static_cast<int>(sum) : -1;
    return at > begin;
  }

  static constexpr bool is_letter(char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
  }

  static constexpr std::string_view trimmed(std::string_view part) {
    auto const blank = [](char letter) {
      return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n' || letter == '"';
    };
    while (!part.empty() && blank(part.front())) part.remove_prefix(1);
    while (!part.empty() && blank(part.back())) part.remove_suffix(1);
    return part;
  }

  constexpr bool complain(csv_fault what, int row, int column, std::string_view cell, int value = 0, int limit = 0) {
    problem = csv_problem{what, row, column, cell, value, limit};
    return false;
  }

  std::string_view text;
  csv_options options;
  csv_problem problem;
  int rows = 0;
  int cells = 0;
  int largest_stage = -1;
  int largest_micro_batch = -1;
  bool any_backward = false;
  bool any_validation = false;
  int stage_count = 0;
  int micro_batch_count = 0;
  weft::detail::buffer<int> rank_of_stage;
  weft::detail::buffer<action> actions;
  weft::detail::buffer<int> row_end;
};

}  // namespace detail

/// Reads a table; the placement is read off the rows. What it says is checked by `play`, not here.
constexpr csv_result parse_csv(std::string_view text, csv_options const& options = {}) {
  detail::csv_reader reader(text, options);
  return reader.run();
}

/// The same; throws `weft::error` naming row, column and cell.
WEFT_SCHEDULES_INLINE program read_csv(std::string_view text, csv_options const& options = {});

/// Writes what `read_csv` reads: every action of every row, in order, no empty cells. A table has no room for slots,
/// groups (which edge a post belongs to), copies, and edges other than the chain's: they are not written, so that a
/// lowered program comes back as one to be lowered anew, and one with skips or copies without them.
WEFT_SCHEDULES_INLINE std::string write_csv(program_view const& program);

#if defined(WEFT_DEFINES_SCHEDULES)

WEFT_SCHEDULES_INLINE std::string explain(csv_problem const& found) {
  std::string const at = "weft::schedule::csv: row " + std::to_string(found.row) + ", column " +
                         std::to_string(found.column) + ", cell \"" + std::string(found.cell) + "\": ";
  std::string const value = std::to_string(found.value);
  std::string const limit = std::to_string(found.limit);
  switch (found.what) {
    case csv_fault::none: return "";
    case csv_fault::empty_table: return "weft::schedule::csv: the table has no rows; write one line per rank";
    case csv_fault::table_too_large:
      return "weft::schedule::csv: " + value + " micro-batches are more than the " + limit +
             " that so many stages can have; use fewer";
    case csv_fault::no_stage_number:
      return at + "does not begin with a stage number; write <stage><action><micro-batch>";
    case csv_fault::unknown_action:
      return at +
             "is not a known action; use F, B, I, W, R, SEND_F, RECV_F, SEND_B, RECV_B, "
             "REDUCE_GRAD, UNSHARD, RESHARD, NORM, STEP, PARTIAL_NORM or VALIDATE";
    case csv_fault::no_micro_batch: return at + "does not end with a micro-batch; write <stage><action><micro-batch>";
    case csv_fault::negative_micro_batch: return at + "micro-batch " + value + " is below 0; they count from 0";
    case csv_fault::number_too_large: return at + "a number does not fit; stages end at 65534, micro-batches at 2^20";
    case csv_fault::unclosed_pair: return at + "is not a fused pair; write (0F7;7B3)OVERLAP_F_B";
    case csv_fault::stage_on_two_ranks:
      return at + "stage " + value + " is on row " + limit + " too; a stage lives on one rank";
    case csv_fault::stage_nowhere:
      return "weft::schedule::csv: stage " + value + " is on no row although stage " + limit +
             " is; number stages without gaps";
    case csv_fault::micro_batch_too_large:
      return at + "micro-batch " + value + " is outside 0 .. " + std::to_string(found.limit - 1) + "; remove it";
    case csv_fault::stage_too_large:
      return at + "stage " + value + " is outside 0 .. " + std::to_string(found.limit - 1) + "; remove it";
  }
  return at + "unknown fault";
}

WEFT_SCHEDULES_INLINE program read_csv(std::string_view text, csv_options const& options) {
  csv_result result = parse_csv(text, options);
  if (!result.problem.ok()) throw error(explain(result.problem), {result.problem.row - 1, -1, -1, -1, -1});
  return std::move(result.table);
}

WEFT_SCHEDULES_INLINE std::string write_csv(program_view const& program) {
  std::string text;
  auto const write = [&text](action const& cell) {
    if (!is_of_rank(cell.what)) text += std::to_string(cell.stage);
    text += traits_of(cell.what).letters;
    if (cell.what < op::reduce_gradient) text += std::to_string(cell.micro_batch);
  };
  for (int rank = 0; rank < program.ranks(); ++rank) {
    row_view const row = program.row(rank);
    bool first = true;
    for (int index = 0; index < row.size; ++index) {
      action const& cell = row[index];
      if (cell.what == op::none) continue;
      if (!first) text += ',';
      first = false;
      bool const is_pair =
          cell.part == parts::fused_forward && index + 1 < row.size && row[index + 1].part == parts::fused_backward;
      if (is_pair) text += '(';
      write(cell);
      if (!is_pair) continue;
      text += ';';
      write(row[++index]);
      text += ")OVERLAP_F_B";
    }
    text += '\n';
  }
  return text;
}

#endif

}  // namespace weft::inline v1::schedule
