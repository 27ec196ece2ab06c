// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The collection of published tables, read by a reader of its own: what schedule/csv.hpp may not know yet (two copies,
// fused slots) is here too, and a fault of one reader does not hide in the other.

#include "published_tables.hpp"

#include <weft/schedule/program.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace vector_tables {

namespace ws = weft::schedule;

struct entry {
  std::string file;
  std::string schedule;
  int ranks = 0;
  int chunks = 0;
  int micro_batches = 0;
  std::string mapping;
  double makespan = 0.0;
  std::string idle;
};

/// The rows of index.csv; empty without the collection.
inline std::vector<entry> index() {
  std::vector<entry> found;
  std::istringstream lines(published::folder().empty() ? "" : published::read_file(published::folder() + "/index.csv"));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    auto const fields = published::split(line, ',');
    found.push_back({fields.at(0), fields.at(1), std::stoi(fields.at(2)), std::stoi(fields.at(3)),
                     std::stoi(fields.at(4)), fields.at(5), std::stod(fields.at(10)), fields.at(11)});
  }
  return found;
}

/// Where a stage of its first or second copy lives.
struct by_mapping {
  std::string mapping;
  int copies = 1;
  [[nodiscard]] int rank_of(int stage, int copy, int ranks) const {
    int const turn = stage % (2 * ranks);
    if (mapping == "V") return turn < ranks ? turn : 2 * ranks - 1 - turn;
    return copy == 0 ? stage % ranks : ranks - 1 - stage % ranks;
  }
};

/// Cells "3F0" and "(3F0;0B1)OVERLAP_F_B" of a file of the collection, as a table of passes.
inline ws::program read(entry const& known) {
  std::istringstream lines(published::read_file(published::folder() + "/" + known.file));
  std::vector<std::vector<ws::action>> rows;
  int stages = 0;
  int actions = 0;
  bool const two_way = known.mapping == "bidirectional";
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] == '#') continue;
    auto const rank = static_cast<int>(rows.size());
    rows.emplace_back();
    for (auto cell : published::split(line, ',')) {
      bool const pair = !cell.empty() && cell[0] == '(';
      std::vector<std::string> parts{cell};
      if (pair) parts = published::split(cell.substr(1, cell.find(')') - 1), ';');
      for (std::size_t index = 0; index < parts.size(); ++index) {
        std::string const& text = parts[index];
        auto const letter = text.find_first_not_of("0123456789");
        if (letter == std::string::npos || text.find("SYNC") != std::string::npos) continue;
        ws::op const what = text[letter] == 'F'   ? ws::op::forward
                            : text[letter] == 'B' ? ws::op::backward
                            : text[letter] == 'I' ? ws::op::backward_input
                                                  : ws::op::backward_weight;
        ws::action added = ws::make_action(what, std::stoi(text), std::stoi(text.substr(letter + 1)));
        if (two_way && added.stage != rank) added.copy = 1;
        if (pair) added.part = index == 0 ? ws::parts::fused_forward : ws::parts::fused_backward;
        stages = (std::max)(stages, added.stage + 1);
        rows.back().push_back(added);
        ++actions;
      }
    }
  }
  auto const ranks = static_cast<int>(rows.size());
  ws::program result(
      known.file, weft::topology::stage_graph::chain(stages).place(by_mapping{known.mapping, two_way ? 2 : 1}, ranks),
      known.micro_batches, ws::work_set{}, actions);
  for (auto const& row : rows) {
    for (auto const& each : row) result.append(each);
    result.end_row();
  }
  return result;
}

/// The zero-bubble paper's measured times of a pass (milliseconds) and bubble rates: Qi et al., arXiv 2401.10241,
/// tables 5 and 6; 8 ranks. I is B there.
struct measured {
  int micro_batches;
  double forward, input, weight, hop;
  double one_f_one_b, h1, h2, limit_p, limit_2p;
};

inline constexpr measured zero_bubble_paper[] = {
    {24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083, 0.1585, 0.0433},
    {32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837, 0.1242, 0.0039},
    {64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674, 0.0444, 0.0674, 0.0026},
    {24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.1323, 0.0698, 0.1323, 0.0029},
    {32, 29.802, 29.428, 19.53, 0.577, 0.1898, 0.1045, 0.0559, 0.1045, 0.0022},
    {64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554, 0.0294, 0.0554, 0.0010}};

}  // namespace vector_tables
