// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/order_problem.hpp>

#include <cstdint>

namespace weft::inline v1::schedule::detail {

/// How `greedy_order` decides; a search tries many.
struct greedy_rules {
  enum class cap : std::uint8_t { none, one_f_one_b, twice };

  cap in_flight = cap::none;  ///< forwards ahead of I: as memory allows, S - s at stage s of S, or 2 (S - s) - 1
  int deferred = -1;          ///< I without their W at stage s: at most `deferred * s`; below 0: as memory allows
  double gap = 0.0;           ///< W fills a gap that is known to be at least this part of W
  bool alternates = false;    ///< F before I where the last pass but W was I
  double patience = 0.0;      ///< I that comes within this part of F is waited for, and no F begun
  bool deepest_first = true;  ///< of several stages on a rank the last one first; otherwise what is ready first
  double after_input = 1.0;   ///< as `order_problem` has it
};

/// Plays all ranks in the order of time. A rank that is free takes I (the rank before waits for it), else F if memory
/// allows, else W; `greedy_rules` bends this. Deterministic; ends for every shape: a single stage per rank always holds
/// the oldest micro-batches, and with more stages one is let in only where all ranks have room for all of it.
class greedy_order {
 public:
  constexpr greedy_order(order_problem const& what, greedy_rules const& how)
      : problem(what),
        rules(how),
        done(what.stages * 3),
        free(what.ranks),
        first(what.ranks),
        last(what.ranks),
        wakes(what.ranks),
        held(what.ranks),
        kept(what.ranks),
        last_was_input(what.ranks),
        begin_of(what.ranks + 1),
        stages_of(what.stages),
        forward_ready(what.stages * what.micro_batches),
        input_ready(what.stages * what.micro_batches) {
    for (int stage = 0; stage < problem.stages; ++stage) ++begin_of[problem.rank_of[stage] + 1];
    for (int rank = 0; rank < problem.ranks; ++rank) begin_of[rank + 1] += begin_of[rank];
    buffer<int> next(begin_of);
    for (int stage = problem.stages - 1; stage >= 0; --stage) stages_of[next[problem.rank_of[stage]]++] = stage;
    for (double& time : forward_ready) time = never;
    for (double& time : input_ready) time = never;
    for (double& time : wakes) time = never;
    for (double& time : first) time = never;
    for (int micro_batch = 0; micro_batch < problem.micro_batches; ++micro_batch) forward_ready[micro_batch] = 0.0;
    wakes[problem.rank_of[0]] = 0.0;
  }

  /// `rows` may be null. Stops where the score cannot get below `enough` any more.
  constexpr order_score run(order_rows* rows) {
    order_score score;
    for (int left = problem.actions(); left > 0;) {
      int rank = 0;
      for (int other = 1; other < problem.ranks; ++other)
        if (wakes[other] < wakes[rank]) rank = other;
      if (wakes[rank] >= never) return score;  // not reached
      if (!act(rank, wakes[rank], rows, score)) continue;
      --left;
    }
    score.longest_span = 0.0;
    score.makespan = 0.0;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      if (last[rank] - first[rank] > score.longest_span) score.longest_span = last[rank] - first[rank];
      if (last[rank] > score.makespan) score.makespan = last[rank];
    }
    return score;
  }

 private:
  static constexpr double never = 1e300;

  [[nodiscard]] constexpr int& forwards(int stage) { return done[3 * stage]; }
  [[nodiscard]] constexpr int& inputs(int stage) { return done[3 * stage + 1]; }
  [[nodiscard]] constexpr int& weights(int stage) { return done[3 * stage + 2]; }

  [[nodiscard]] constexpr bool may_forward(int stage, int rank) {
    int const next = forwards(stage);
    if (next == problem.micro_batches) return false;
    int const ahead = next - inputs(stage);
    if (rules.in_flight == greedy_rules::cap::one_f_one_b && ahead >= problem.stages - stage) return false;
    if (rules.in_flight == greedy_rules::cap::twice && ahead >= 2 * (problem.stages - stage) - 1) return false;
    if (problem.limit >= never) return true;
    if (problem.stages == problem.ranks) return held[rank] + 1.0 <= problem.limit + 1e-9;
    if (stage > 0) return true;  // let in at stage 0
    for (int each = 0; each < problem.ranks; ++each)
      if (held[each] + (begin_of[each + 1] - begin_of[each]) > problem.limit + 1e-9) return false;
    return true;
  }

  /// One decision of a rank at `now`: false where it waits (`wakes` says until when).
  constexpr bool act(int rank, double now, order_rows* rows, order_score& score) {
    int forward = -1;
    int input = -1;
    int weight = -1;
    double forward_at = never;
    double input_at = never;
    bool overdue = false;
    for (int index = begin_of[rank]; index < begin_of[rank + 1]; ++index) {
      int const stage = stages_of[index];
      if (inputs(stage) < forwards(stage)) {
        double const ready = input_ready[stage * problem.micro_batches + inputs(stage)];
        if (is_better(ready, input_at, now)) {
          input_at = ready;
          input = stage;
        }
      }
      if (may_forward(stage, rank)) {
        double const ready = forward_ready[stage * problem.micro_batches + forwards(stage)];
        if (is_better(ready, forward_at, now)) {
          forward_at = ready;
          forward = stage;
        }
      }
      int const pending = problem.splits ? inputs(stage) - weights(stage) : 0;
      if (pending == 0 || overdue) continue;
      weight = weight < 0 ? stage : weight;
      overdue = rules.deferred >= 0 && pending > rules.deferred * stage;
      if (overdue) weight = stage;
    }
    bool const waits_for_input =
        forward_at <= now && input_at > now && input_at < now + rules.patience * problem.forward[forward];
    double const next = waits_for_input || input_at < forward_at ? input_at : forward_at;
    if (overdue)
      run_weight(rank, weight, now, rows);
    else if (forward_at <= now && rules.alternates && last_was_input[rank])
      run_forward(rank, forward, now, rows, score);
    else if (input_at <= now)
      run_input(rank, input, now, rows);
    else if (forward_at <= now && !waits_for_input)
      run_forward(rank, forward, now, rows, score);
    else if (weight >= 0 && (next >= never || next - now >= rules.gap * problem.weight[weight]))
      run_weight(rank, weight, now, rows);
    else {
      wakes[rank] = next;
      return false;
    }
    wakes[rank] = free[rank];
    return true;
  }

  /// Of several stages: any that is ready before one that is not, then as the rules say (stages come deepest first).
  [[nodiscard]] constexpr bool is_better(double ready, double best, double now) const {
    if (rules.deepest_first && best <= now) return false;
    return ready < best;
  }

  constexpr void spend(int rank, op what, int stage, double now, double length, order_rows* rows) {
    if (first[rank] >= never) first[rank] = now;
    free[rank] = now + length;
    last[rank] = free[rank];
    if (what != op::backward_weight) last_was_input[rank] = what != op::forward;
    if (rows != nullptr) rows->put(rank, what, stage);
  }

  constexpr void wake(int rank, double arrival) {
    double const at = arrival > free[rank] ? arrival : free[rank];
    if (at < wakes[rank]) wakes[rank] = at;
  }

  constexpr void run_forward(int rank, int stage, double now, order_rows* rows, order_score& score) {
    int const micro_batch = forwards(stage)++;
    spend(rank, op::forward, stage, now, problem.forward[stage], rows);
    if (problem.stages == problem.ranks)
      held[rank] += 1.0;
    else if (stage == 0)
      for (int each = 0; each < problem.ranks; ++each) held[each] += begin_of[each + 1] - begin_of[each];
    if (++kept[rank] > score.peak) score.peak = kept[rank];
    if (stage + 1 == problem.stages) {
      input_ready[stage * problem.micro_batches + micro_batch] = free[rank];
      return;
    }
    double const arrival = free[rank] + problem.hop[stage];
    forward_ready[(stage + 1) * problem.micro_batches + micro_batch] = arrival;
    wake(problem.rank_of[stage + 1], arrival);
  }

  constexpr void run_input(int rank, int stage, double now, order_rows* rows) {
    int const micro_batch = inputs(stage)++;
    spend(rank, problem.splits ? op::backward_input : op::backward, stage, now, problem.input[stage], rows);
    release(rank, problem.splits ? 1.0 - rules.after_input : 1.0);
    if (!problem.splits) --kept[rank];
    if (stage == 0) return;
    double const arrival = free[rank] + problem.hop[stage - 1];
    input_ready[(stage - 1) * problem.micro_batches + micro_batch] = arrival;
    wake(problem.rank_of[stage - 1], arrival);
  }

  constexpr void run_weight(int rank, int stage, double now, order_rows* rows) {
    ++weights(stage);
    spend(rank, op::backward_weight, stage, now, problem.weight[stage], rows);
    release(rank, rules.after_input);
    --kept[rank];
  }

  /// Room on one rank may let in a micro-batch on the first.
  constexpr void release(int rank, double part) {
    held[rank] -= part;
    if (problem.stages != problem.ranks && part > 0.0 && problem.limit < never) wake(problem.rank_of[0], free[rank]);
  }

  order_problem const& problem;
  greedy_rules rules;
  buffer<int> done;  ///< [stage][F, I, W]
  buffer<double> free;
  buffer<double> first;
  buffer<double> last;
  buffer<double> wakes;  ///< when a rank decides next, as far as is known
  buffer<double> held;   ///< activations, as the limit counts them
  buffer<int> kept;      ///< activations from F to the last backward
  buffer<bool> last_was_input;
  buffer<int> begin_of;  ///< stages of rank r: stages_of[begin_of[r] .. begin_of[r + 1]), the deepest first
  buffer<int> stages_of;
  buffer<double> forward_ready;  ///< [stage][micro-batch]
  buffer<double> input_ready;
};

}  // namespace weft::inline v1::schedule::detail
