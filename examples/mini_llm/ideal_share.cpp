// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ideal_share.hpp"

#include <weft/schedule/cost.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>

namespace mini_llm {

double ideal_share(weft::transport::endpoint& door, double deadline, played_step const& played) {
  using weft::schedule::op;
  auto const stages = static_cast<std::size_t>(played.program.stages());
  // Per stage: seconds and number of F (and R), of B or I, of W; then STEP. Then, by one rank each, the step's seconds.
  enum : std::size_t { forward, forwards, input, inputs, weight, weights, step, figures };
  auto const ranks = static_cast<std::size_t>(door.size());
  std::vector<double> shared(stages * figures + ranks, 0.0);
  for (std::size_t index = 0; index < played.times.size(); ++index) {
    auto const& each = played.instructions[index];
    double const seconds = played.times[index].end - played.times[index].begin;
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
  shared[stages * figures + static_cast<std::size_t>(door.rank())] = played.seconds;
  weft::transport::all_reduce_sum(door, shared.data(), shared.size(), deadline);
  std::vector<weft::schedule::stage_cost> costs(stages);
  weft::schedule::cost_model model;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double const* const sums = shared.data() + stage * figures;
    auto const mean = [&](std::size_t sum, std::size_t count) {
      return sums[count] > 0.0 ? sums[sum] / sums[count] : 0.0;
    };
    costs[stage] = {mean(forward, forwards), mean(input, inputs), mean(weight, weights)};
    model.step = std::max(model.step, sums[step] / played.replicas);
  }
  model.stages = costs.data();
  double longest = 0.0;
  for (std::size_t rank = 0; rank < ranks; ++rank) longest = std::max(longest, shared[stages * figures + rank]);
  return longest > 0.0 ? weft::schedule::cost(played.program, model).makespan / longest : -1.0;
}

}  // namespace mini_llm
