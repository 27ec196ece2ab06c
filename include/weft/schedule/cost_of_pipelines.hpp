// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/detail/clockwork.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/timing.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::inline v1::schedule {

/// Pipelines that play one program under one set of costs: however many, they are played once.
struct pipeline_kind {
  program_view program;
  cost_model costs = {};
  int count = 1;
};

/// What all pipelines of a data axis need together.
struct pipelines_cost {
  bool complete = false;
  std::int64_t pipelines = 0;
  double makespan = 0.0;
  double idle_share = 0.0;  ///< of all ranks of all pipelines
  int slowest = -1;         ///< the kind whose passes end last; the others wait for it where they reduce
};

/// Prices pipelines that meet in their REDUCE_GRADs over the data axis: the reduction of a stage begins once every
/// pipeline has come to it, takes the longest of their `reduction` times, and keeps NORM and STEP of its rank waiting.
/// Without such a reduction the pipelines go on alone.
///
/// `each` (a summary per kind) may be null. Throws `weft::error` where stages differ in number. Does not communicate.
inline pipelines_cost cost_of_pipelines(pipeline_kind const* kinds, int count, cost_summary* each = nullptr) {
  std::vector<detail::clockwork> works;
  works.reserve(static_cast<std::size_t>(count > 0 ? count : 0));
  for (int kind = 0; kind < count; ++kind) {
    int const stages = kinds[kind].program.stages() * kinds[kind].program.graph.copies;
    int const wanted = kinds[0].program.stages() * kinds[0].program.graph.copies;
    if (stages != wanted)
      throw error("weft::schedule::cost: pipeline kind " + std::to_string(kind) + " has " + std::to_string(stages) +
                  " stages and kind 0 has " + std::to_string(wanted) +
                  "; gradients are reduced stage by stage, so give all pipelines the same stages");
    works.emplace_back(kinds[kind].program, kinds[kind].costs);
    works.back().share_reductions();
  }
  int const stages = count > 0 ? kinds[0].program.stages() * kinds[0].program.graph.copies : 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& work : works) moved = work.advance(nullptr, nullptr) || moved;
    // The reduction that can begin first, of those to which all have come.
    int next = -1;
    double first = 0.0;
    for (int which = 0; which < stages; ++which) {
      double begin = 0.0;
      for (auto const& work : works) {
        double const own = work.reduction_begin(which);
        begin = own < 0.0 || begin < 0.0 ? -1.0 : own > begin ? own : begin;
      }
      if (begin < 0.0 || (next >= 0 && begin >= first)) continue;
      next = which;
      first = begin;
    }
    if (next < 0) continue;
    double longest = 0.0;
    for (auto const& work : works) {
      double const own = work.reduction_time(next % kinds[0].program.stages());
      if (own > longest) longest = own;
    }
    for (auto& work : works) work.end_reduction(next, first + longest);
    moved = true;
  }
  pipelines_cost result;
  result.complete = true;
  double busy = 0.0;
  double ranks = 0.0;
  double latest = -1.0;
  for (int kind = 0; kind < count; ++kind) {
    std::vector<rank_time> times(static_cast<std::size_t>(kinds[kind].program.ranks()));
    cost_summary const summary = works[static_cast<std::size_t>(kind)].summary(times.data());
    if (each != nullptr) each[kind] = summary;
    result.complete = result.complete && summary.complete;
    result.pipelines += kinds[kind].count;
    if (summary.makespan > result.makespan) result.makespan = summary.makespan;
    double passes_end = 0.0;
    for (auto const& time : times) {
      busy += kinds[kind].count * time.busy;
      if (time.passes_end > passes_end) passes_end = time.passes_end;
    }
    ranks += static_cast<double>(kinds[kind].count) * kinds[kind].program.ranks();
    if (passes_end <= latest) continue;
    latest = passes_end;
    result.slowest = kind;
  }
  if (result.makespan > 0.0) result.idle_share = 1.0 - busy / (ranks * result.makespan);
  return result;
}

}  // namespace weft::inline v1::schedule
