// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>

#include <string>
#include <vector>

namespace schedule_support {

namespace ws = weft::schedule;

/// A program whose rows a test may change.
struct editable {
  std::vector<std::vector<ws::action>> rows;
  ws::program_view origin;

  explicit editable(ws::program_view const& from) : origin(from) {
    for (int rank = 0; rank < from.ranks(); ++rank) rows.emplace_back(from.row(rank).begin(), from.row(rank).end());
  }

  ws::verdict play(ws::send_model model = ws::send_model::rendezvous) {
    views_.clear();
    for (auto const& row : rows) views_.push_back({row.data(), static_cast<int>(row.size())});
    ws::program_view view = origin;
    view.rows = views_.data();
    return ws::play(view, model);
  }

  ws::program_view view() {
    views_.clear();
    for (auto const& row : rows) views_.push_back({row.data(), static_cast<int>(row.size())});
    ws::program_view result = origin;
    result.rows = views_.data();
    return result;
  }

 private:
  std::vector<ws::row_view> views_;
};

inline std::string letters(ws::row_view row, bool passes_alone = true) {
  std::string text;
  for (ws::action const& cell : row) {
    if (passes_alone && !ws::traits_of(cell.what).is_compute) continue;
    if (!text.empty()) text += ' ';
    text += ws::traits_of(cell.what).letters;
    if (cell.what < ws::op::reduce_gradient) text += std::to_string(cell.micro_batch);
  }
  return text;
}

inline std::string peaks_of(ws::program_view const& program) {
  std::vector<ws::rank_figures> figures(static_cast<std::size_t>(program.ranks()));
  ws::play(program, ws::send_model::rendezvous, figures.data());
  std::string text;
  for (auto const& each : figures) text += (text.empty() ? "" : " ") + std::to_string(each.peak_activations);
  return text;
}

}  // namespace schedule_support
