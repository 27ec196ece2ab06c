// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"
#include "text_file.hpp"

#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/spread_costs.hpp>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace weft_schedule {

/// A file with a line "forward, input gradient, weight gradient" per stage, and what it says. Empty lines, comments
/// ("# ...") and one heading are passed over.
inline std::vector<weft::schedule::stage_cost> read_stage_costs(std::string const& path) {
  std::string const text = read_text(path, std::size_t{8} << 20U);
  std::vector<weft::schedule::stage_cost> costs;
  int number = 0;
  bool heading_allowed = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = text.find('\n', at) < text.size() ? text.find('\n', at) : text.size();
    std::string const line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    std::size_t const begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    double values[3] = {};
    char const* from = line.c_str();
    bool good = true;
    for (int index = 0; index < 3 && good; ++index) {
      char* after = nullptr;
      values[index] = std::strtod(from, &after);
      good = after != from;
      from = after + std::strspn(after, " \t\r");
      if (good && index < 2) good = *from == ',';
      if (good && index < 2) ++from;
    }
    good = good && *from == '\0';
    bool const is_heading = heading_allowed && std::isalpha(static_cast<unsigned char>(line[begin])) != 0 &&
                            line.substr(begin, 3) != "nan" && line.substr(begin, 3) != "inf";
    heading_allowed = false;
    if (!good && is_heading) continue;
    std::string const where = printable(path, 200) + ", line " + std::to_string(number);
    if (!good)
      throw usage_error(where + ": \"" + printable(line) +
                        "\" is not three numbers; write forward,input gradient,weight gradient");
    require_duration((where + ", forward").c_str(), values[0], false);
    require_duration((where + ", input gradient").c_str(), values[1], false);
    require_duration((where + ", weight gradient").c_str(), values[2], true);
    costs.push_back({values[0], values[1], values[2]});
  }
  return costs;
}

/// The durations that were asked for, as a model. Owns the array that the model points to.
class chosen_costs {
 public:
  explicit chosen_costs(cost_options const& options, int ranks)
      : per_rank_(options.per_rank),
        file_(options.per_stage) {
    require_duration("--forward", options.forward, false);
    require_duration("--input-gradient", options.input_gradient, false);
    require_duration("--weight-gradient", options.weight_gradient, true);
    require_duration("--hop", options.hop, true);
    model.every = {options.forward, options.input_gradient, options.weight_gradient};
    model.hop = options.hop;
    if (!file_.empty()) {
      stages_ = read_stage_costs(file_);
      model.stages = stages_.data();
    }
    if (per_rank_) require_lines(ranks);
  }
  chosen_costs(chosen_costs const&) = delete;
  chosen_costs& operator=(chosen_costs const&) = delete;

  /// A schedule is chosen or searched with costs of whole ranks: throws where the file is not of that size.
  void require_whole_ranks(int ranks) {
    per_rank_ = true;
    require_lines(ranks);
  }

  /// The model for one table.
  weft::schedule::cost_model const& of(weft::schedule::program_view const& table) {
    if (!per_rank_) {
      require_lines(table.stages());
      return model;
    }
    spread_.emplace(model, table.graph);
    return spread_->model;
  }

  /// Throws where the file has another number of lines.
  void require_lines(int wanted) const {
    if (file_.empty() || static_cast<int>(stages_.size()) == wanted) return;
    throw usage_error(printable(file_, 200) + ": has " + counted(static_cast<std::int64_t>(stages_.size()), "line") +
                      " of durations, and " + std::to_string(wanted) + " are wanted; write one line per " +
                      (per_rank_ ? "rank" : "stage"));
  }

  weft::schedule::cost_model model;

 private:
  bool per_rank_;
  std::string file_;
  std::vector<weft::schedule::stage_cost> stages_;
  std::optional<weft::schedule::spread_costs> spread_;
};

}  // namespace weft_schedule
