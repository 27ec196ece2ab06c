// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/spread_costs.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace weft::inline v1::schedule {

/// What a schedule must keep to, besides its own rule. Everything is per rank, for a model cut into one part per rank;
/// a rank with v stages keeps 1 / v of it for each.
struct schedule_wish {
  shape chosen;      ///< chunks and the like, for those that take them
  cost_model costs;  ///< of whole ranks; see `spread_costs`
  double activations =
      0.0;  ///< most micro-batches whose activations a rank may keep, from F to its last backward; 0: any
  std::int64_t bytes = 0;                 ///< most bytes of a rank; 0: any
  std::int64_t activation_bytes = 0;      ///< of one micro-batch
  std::int64_t weight_context_bytes = 0;  ///< what I keeps for W, of one micro-batch
  std::int64_t weight_bytes = 0;          ///< of the weights, once, with what belongs to them
  int copies = 1;                         ///< most copies of the weights
  bool is_quick = false;                  ///< searches are short; for unit costs alone

  /// What a search may keep: the smaller of the two limits, in activations.
  [[nodiscard]] constexpr double most_activations() const {
    double most = activations > 0.0 ? activations : 1e300;
    std::int64_t const each = activation_bytes + weight_context_bytes;
    if (bytes > 0 && each > 0) {
      double const fit = static_cast<double>(bytes - weight_bytes) / static_cast<double>(each);
      if (fit < most) most = fit;
    }
    return most;
  }
};

/// Why a schedule is not among those to choose from.
enum class left_out : std::uint8_t {
  none,
  breaks_rule,      ///< of its own: see its `validity`
  trains_nothing,   ///< forwards alone
  keeps_versions,   ///< of the weights: asynchronous, another training
  too_many_copies,  ///< of the weights
  too_many_activations,
  too_many_bytes,
  cannot_be_played
};

/// One schedule's figures under a wish. Flat, so that it can be a constant.
struct candidate {
  left_out why = left_out::none;
  int chunks = 1;
  int copies = 1;            ///< of the weights, versions counted
  double activations = 0.0;  ///< at the peak of the heaviest rank, in micro-batches of a whole rank
  std::int64_t bytes = 0;    ///< of the heaviest rank, as far as the wish says what things weigh
  double makespan = 0.0;
  double longest_span = 0.0;
  double bubble_rate = 0.0;
  double limit = 0.0;  ///< what `activations`, `bytes` or `copies` was held to, where it is left out for that

  [[nodiscard]] constexpr bool is_shorter_than(candidate const& other) const {
    return makespan < other.makespan - 1e-9 * other.makespan;
  }

  /// Legal ones first, then time; equal times differ by rounding alone.
  [[nodiscard]] constexpr bool is_better_than(candidate const& other) const {
    if ((why == left_out::none) != (other.why == left_out::none)) return why == left_out::none;
    if (why != left_out::none) return false;
    double const mine[] = {makespan, longest_span, activations};
    double const others[] = {other.makespan, other.longest_span, other.activations};
    for (int index = 0; index < 3; ++index) {
      if (mine[index] < others[index] - 1e-9 * others[index]) return true;
      if (others[index] < mine[index] - 1e-9 * mine[index]) return false;
    }
    return false;
  }
};

/// Plays and prices a table under a wish.
constexpr candidate figures_of_candidate(program_view const& table, schedule_wish const& wish) {
  candidate result;
  result.chunks = table.stages() / table.ranks() > 0 ? table.stages() / table.ranks() : 1;
  result.copies = table.graph.copies;
  if (!table.work.backward) {
    result.why = left_out::trains_nothing;
    return result;
  }
  spread_costs const costs(wish.costs, table.graph);
  schedule_figures const found = figures_of(table, costs.model);
  if (!found.proof.playable() || !found.cost.complete) {
    result.why = left_out::cannot_be_played;
    return result;
  }
  int const versions =
      found.proof.peak_versions > table.carry.versions ? found.proof.peak_versions : table.carry.versions;
  result.copies *= versions;
  result.makespan = found.cost.makespan;
  result.longest_span = found.cost.longest_span;
  result.bubble_rate = found.bubble_rate;
  for (rank_summary const& each : found.ranks) {
    double const kept = static_cast<double>(each.peaks.peak_activations) / result.chunks;
    double const contexts = static_cast<double>(each.peaks.peak_weight_contexts) / result.chunks;
    if (kept > result.activations) result.activations = kept;
    std::int64_t const bytes = result.copies * wish.weight_bytes +
                               static_cast<std::int64_t>(kept * static_cast<double>(wish.activation_bytes) +
                                                         contexts * static_cast<double>(wish.weight_context_bytes));
    if (bytes > result.bytes) result.bytes = bytes;
  }
  if (table.work.asynchronous || versions > 1) {
    result.why = left_out::keeps_versions;
  } else if (table.graph.copies > wish.copies) {
    result.why = left_out::too_many_copies;
    result.limit = wish.copies;
  } else if (wish.activations > 0.0 && result.activations > wish.activations + 1e-9) {
    result.why = left_out::too_many_activations;
    result.limit = wish.activations;
  } else if (wish.bytes > 0 && result.bytes > wish.bytes) {
    result.why = left_out::too_many_bytes;
    result.limit = static_cast<double>(wish.bytes);
  }
  return result;
}

/// "left out: a rank keeps 7 activations at its peak, and the limit is 4"; empty for one that is not.
inline std::string explain(candidate const& found) {
  char text[200];
  switch (found.why) {
    case left_out::none: return "";
    case left_out::breaks_rule: return "left out: its rule is broken";
    case left_out::trains_nothing: return "left out: it runs forwards alone";
    case left_out::keeps_versions:
      std::snprintf(text, sizeof text,
                    "left out: it takes steps that do not wait, with %d version%s of the weights: another training",
                    found.copies, found.copies == 1 ? "" : "s");
      return text;
    case left_out::too_many_copies:
      std::snprintf(text, sizeof text, "left out: it holds %d copies of the weights, and %g may be held", found.copies,
                    found.limit);
      return text;
    case left_out::too_many_activations:
      std::snprintf(text, sizeof text, "left out: a rank keeps %g activations at its peak, and the limit is %g",
                    found.activations, found.limit);
      return text;
    case left_out::too_many_bytes:
      std::snprintf(text, sizeof text, "left out: a rank needs %lld bytes, and the limit is %.0f",
                    static_cast<long long>(found.bytes), found.limit);
      return text;
    case left_out::cannot_be_played: return "left out: it cannot be played; ask play why";
  }
  return "";
}

}  // namespace weft::inline v1::schedule
