// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/cost.hpp>
#include <weft/transport/run_collective.hpp>

#include <vector>

namespace mini_llm {

/// Time that the schedule would need if every action took what it took on average in the last step and messages took
/// none, over the time that the step did take: 1 is ideal. Negative where no step has run. Collective.
template <class Trainer>
double ideal_share(Trainer& trainer) {
  using weft::schedule::op;
  auto const& engine = trainer.engine_of_training();
  auto const stages = static_cast<std::size_t>(trainer.program().stages());
  // Per stage: seconds and number of F (and R), of B or I, of W; then STEP. Then, by one rank each, the step's seconds.
  enum : std::size_t { forward, forwards, input, inputs, weight, weights, step, figures };
  auto const ranks = static_cast<std::size_t>(trainer.door().size());
  std::vector<double> shared(stages * figures + ranks, 0.0);
  for (std::size_t index = 0; index < engine.times().size(); ++index) {
    auto const& each = engine.instructions()[index];
    double const seconds = engine.times()[index].end - engine.times()[index].begin;
    double* const mine = shared.data() + static_cast<std::size_t>(each.stage) * figures;
    auto const add = [&](std::size_t sum, std::size_t count) {
      mine[sum] += seconds;
      mine[count] += 1.0;
    };
    if (each.what == op::forward || each.what == op::recompute) add(forward, forwards);
    if (each.what == op::backward || each.what == op::backward_input) add(input, inputs);
    if (each.what == op::backward_weight) add(weight, weights);
    if (each.what == op::step) mine[step] += seconds;
  }
  shared[stages * figures + static_cast<std::size_t>(trainer.door().rank())] = engine.last_step_seconds();
  weft::transport::all_reduce_sum(trainer.door(), shared.data(), shared.size(), trainer.deadline());
  std::vector<weft::schedule::stage_cost> costs(stages);
  weft::schedule::cost_model model;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double const* const sums = shared.data() + stage * figures;
    auto const mean = [&](std::size_t sum, std::size_t count) {
      return sums[count] > 0.0 ? sums[sum] / sums[count] : 0.0;
    };
    costs[stage] = {mean(forward, forwards), mean(input, inputs), mean(weight, weights)};
    model.step = std::max(model.step, sums[step] / (trainer.ranks().count() * trainer.ranks().copies()));
  }
  model.stages = costs.data();
  double longest = 0.0;
  for (std::size_t rank = 0; rank < ranks; ++rank) longest = std::max(longest, shared[stages * figures + rank]);
  return longest > 0.0 ? weft::schedule::cost(trainer.program(), model).makespan / longest : -1.0;
}

}  // namespace mini_llm
