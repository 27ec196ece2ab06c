// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/greedy_order.hpp>
#include <weft/schedule/detail/order_problem.hpp>
#include <weft/schedule/detail/order_score.hpp>

#include <cstdint>

namespace weft::inline v1::schedule::detail {

/// What a search makes small first: the longest span of a rank (no rank waits for all before its optimizer step) or the
/// makespan.
enum class order_goal : std::uint8_t { longest_span, makespan };

[[nodiscard]] constexpr bool is_better(order_score const& one, order_score const& other, order_goal goal) {
  bool const by_span = goal == order_goal::longest_span;
  double const first[] = {by_span ? one.longest_span : one.makespan, by_span ? one.makespan : one.longest_span};
  double const second[] = {by_span ? other.longest_span : other.makespan,
                           by_span ? other.makespan : other.longest_span};
  for (int index = 0; index < 2; ++index) {
    if (is_shorter(first[index], second[index])) return true;
    if (is_shorter(second[index], first[index])) return false;
  }
  return one.peak < other.peak;
}

/// No order can have a shorter one: a rank has its work to do, and stage 0 waits for its first I while micro-batch 0
/// goes there and back, with no more to do meanwhile than memory allows (or there is).
[[nodiscard]] constexpr order_score order_bound(order_problem const& problem) {
  order_score bound{0.0, 0.0, 0};
  double head = 0.0;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    double const work = problem.work(rank);
    if (work > bound.longest_span) bound.longest_span = work;
  }
  buffer<bool> seen(problem.ranks);
  for (int stage = 0; stage < problem.stages; ++stage) {
    int const rank = problem.rank_of[stage];
    // A rank begins when micro-batch 0 comes, and after its first stage's last backward the gradient goes on to stage
    // 0.
    if (!seen[rank]) {
      double const work = head + problem.work(rank);
      if (work > bound.makespan) bound.makespan = work;
    }
    seen[rank] = true;
    head += problem.forward[stage] + problem.hop[stage];
  }
  if (problem.stages != problem.ranks) return bound;
  double round_trip = -problem.forward[0];
  for (int stage = 0; stage < problem.stages; ++stage)
    round_trip += problem.forward[stage] + 2.0 * problem.hop[stage] + (stage > 0 ? problem.input[stage] : 0.0);
  int ahead = problem.micro_batches - 1;
  if (problem.limit - 1.0 < ahead) ahead = static_cast<int>(problem.limit) - 1;
  double const idle = round_trip - ahead * problem.forward[0];
  double const span = problem.work(problem.rank_of[0]) + (idle > 0.0 ? idle : 0.0);
  if (span > bound.longest_span) bound.longest_span = span;
  if (span > bound.makespan) bound.makespan = span;
  return bound;
}

/// The rules that a search tries, the most promising first; `count` of them.
struct rule_list {
  static constexpr greedy_rules::cap caps[] = {greedy_rules::cap::none, greedy_rules::cap::twice,
                                               greedy_rules::cap::one_f_one_b};
  static constexpr double gaps[] = {0.0, 1.0, 1.25, 0.5, 0.75, 0.25};
  static constexpr double patiences[] = {0.25, 0.0, 0.5, 1.0};
  static constexpr int defers[] = {-1, 4, 1, 2, 3, 0};

  bool chunks = false;
  double after_input = 1.0;

  /// First gaps and patience change, then who may run ahead, then the rest.
  [[nodiscard]] constexpr int count() const { return 6 * 4 * 2 * 2 * 3 * 6 * (chunks ? 2 : 1); }
  [[nodiscard]] constexpr greedy_rules operator[](int index) const {
    greedy_rules result;
    auto const next = [&index](int size) {
      int const digit = index % size;
      index /= size;
      return digit;
    };
    result.after_input = next(2) == 0 ? 1.0 : after_input;
    result.gap = gaps[next(6)];
    result.alternates = next(2) == 1;
    result.deepest_first = !chunks || next(2) == 0;
    result.patience = patiences[next(4)];
    result.in_flight = caps[next(3)];
    result.deferred = defers[next(6)];
    return result;
  }
};

/// How many actions a search may play: for policies as types, which are the same while compiling and at run time (an
/// action takes some 300 steps of clang, which counts to a million), and for those made at start-up.
namespace effort {
inline constexpr int small = 2500;
inline constexpr int large = 250'000;
}  // namespace effort

/// The family of 1F1B as rows: rank r begins with `warm` (p - r - 1) forwards, and W(k) follows I(k + `late` * r). With
/// (1, 0) it is 1F1B, (2, 0) eager 1F1B, (1, 1) ZB-H1, (2, 2) ZB-H2, (M, 0) GPipe.
constexpr void write_pairs(order_problem const& problem, int warm, int late, order_rows& rows) {
  rows = order_rows(problem);
  int const count = problem.micro_batches;
  for (int stage = 0; stage < problem.stages; ++stage) {
    int const rank = problem.rank_of[stage];
    int const wanted = warm >= count ? count : warm * (problem.stages - stage - 1);
    int const first = wanted < count ? wanted : count;
    int const behind = static_cast<std::int64_t>(late) * stage < count ? late * stage : count;
    for (int turn = 0; turn < first; ++turn) rows.put(rank, op::forward, stage);
    for (int turn = 0; turn < count; ++turn) {
      if (first + turn < count) rows.put(rank, op::forward, stage);
      rows.put(rank, problem.splits ? op::backward_input : op::backward, stage);
      if (problem.splits && turn >= behind) rows.put(rank, op::backward_weight, stage);
    }
    for (int turn = count - behind; problem.splits && turn < count; ++turn) rows.put(rank, op::backward_weight, stage);
  }
}

struct pair_family {
  int warm;
  int late;
};
inline constexpr pair_family known_pairs[] = {{1, 1}, {2, 2}, {1, 0}, {2, 0}, {1 << 20, 0}, {1 << 20, 1 << 20}};

/// Known orders first (one stage per rank), then the rules one after the other, until one is as good as any order can
/// be or `budget` actions are played (12 rules at least). Writes the best into `rows`, which is never empty: a limit of
/// one activation is always met.
constexpr order_score search_order(order_problem const& problem, order_goal goal, int budget, order_rows& rows) {
  bool const chunks = problem.stages != problem.ranks;
  order_score const bound = order_bound(problem);
  auto const cannot_improve = [&bound, goal](order_score const& found) {
    return !(goal == order_goal::longest_span && is_shorter(bound.longest_span, found.longest_span)) &&
           !is_shorter(bound.makespan, found.makespan);
  };
  order_score best;
  int chosen = -1;
  int played = 0;
  for (pair_family const& each : known_pairs) {
    if (chunks || cannot_improve(best)) break;
    if (!problem.splits && each.late > 0) continue;
    order_rows tried;
    write_pairs(problem, each.warm, each.late, tried);
    order_score const found = order_clock(problem).run(tried);
    played += problem.actions();
    if (!found.found() || !is_better(found, best, goal)) continue;
    best = found;
    rows = static_cast<order_rows&&>(tried);
  }
  rule_list const list{chunks, problem.after_input};
  for (int index = 0; index < list.count() && !cannot_improve(best); ++index) {
    if (index >= 12 && played > budget) break;
    greedy_rules const rules = list[index];
    if (index % 2 == 1 && (problem.after_input == 1.0 || !problem.splits)) continue;
    if (!problem.splits && (index / 2 % 6 != 0 || rules.deferred != -1)) continue;
    order_score const found = greedy_order(problem, rules).run(nullptr);
    played += problem.actions();
    if (!found.found() || !is_better(found, best, goal)) continue;
    best = found;
    chosen = index;
  }
  if (chosen < 0) return best;
  rows = order_rows(problem);
  greedy_order(problem, list[chosen]).run(&rows);
  return order_clock(problem).run(rows);  // a rank may have waited for room elsewhere, which an order need not
}

}  // namespace weft::inline v1::schedule::detail
