// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/profiling/action_time.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft::inline v1::profiling {

/// What the actions of a program cost, from recorded times: the durations to draw a plan with that can be laid beside
/// the measurement.
class measured_costs {
 public:
  explicit measured_costs(schedule::program_view const& program)
      : program_(program),
        sums_(static_cast<std::size_t>(program.stages()) * figures) {}

  /// One step of this rank's row; `times` is parallel to it. Does not communicate.
  void add(int rank, std::span<action_time const> times) {
    schedule::row_view const row = program_.row(rank);
    for (std::size_t index = 0; index < times.size(); ++index) {
      schedule::action const& each = row[static_cast<int>(index)];
      double const seconds = times[index].end - times[index].begin;
      switch (each.what) {
        case schedule::op::forward:
        case schedule::op::recompute: add(each.stage, forward, seconds); break;
        case schedule::op::backward:
        case schedule::op::backward_input: add(each.stage, input, seconds); break;
        case schedule::op::backward_weight: add(each.stage, weight, seconds); break;
        case schedule::op::step: add(each.stage, step, seconds); break;
        case schedule::op::reduce_gradient:
          // Over the data axis it is a post; what is left of the sum when NORM asks for it is in NORM's time.
          if (each.group == static_cast<std::uint8_t>(schedule::reduction::tied))
            least_reduction_ = (std::min)(least_reduction_, seconds);
          break;
        case schedule::op::norm:
        case schedule::op::partial_norm: least_norm_ = (std::min)(least_norm_, seconds); break;
        default: break;
      }
    }
  }

  /// Means over all ranks and steps, in seconds. NORM, and REDUCE_GRAD of tied parameters, wait for the slowest rank,
  /// so they cost what the rank that waited least took. REDUCE_GRAD over the data axis costs nothing: nobody sees when
  /// its sum is complete, and who waits for it is NORM. `hop`: seconds of a message between two ranks. Collective. The
  /// model points into this object.
  schedule::cost_model share(transport::endpoint& door, double hop, double deadline) {
    transport::all_reduce_sum(door, sums_.data(), sums_.size(), deadline);
    double const mine[3] = {least_reduction_, least_norm_, hop};
    std::vector<double> all(3 * static_cast<std::size_t>(door.size()));
    transport::all_gather(door, mine, sizeof mine, all.data(), deadline);
    schedule::cost_model model;
    model.reduce_gradient = model.norm = std::numeric_limits<double>::infinity();
    for (std::size_t rank = 0; rank < all.size(); rank += 3) {
      model.reduce_gradient = (std::min)(model.reduce_gradient, all[rank]);
      model.norm = (std::min)(model.norm, all[rank + 1]);
      model.hop = (std::max)(model.hop, all[rank + 2]);
    }
    if (model.reduce_gradient == std::numeric_limits<double>::infinity()) model.reduce_gradient = 0.0;
    if (model.norm == std::numeric_limits<double>::infinity()) model.norm = 0.0;
    stages_.resize(static_cast<std::size_t>(program_.stages()));
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      auto const mean = [&](std::size_t kind) {
        double const* const sum = sums_.data() + stage * figures + 2 * kind;
        return sum[1] > 0.0 ? sum[0] / sum[1] : 0.0;
      };
      stages_[stage] = {mean(forward), mean(input), mean(weight)};
      model.step = (std::max)(model.step, mean(step));
    }
    model.stages = stages_.data();
    return model;
  }

 private:
  // Per stage: seconds and number of each.
  enum : std::size_t { forward, input, weight, step, kinds };
  static constexpr std::size_t figures = 2 * kinds;

  void add(int stage, std::size_t kind, double seconds) {
    double* const sum = sums_.data() + static_cast<std::size_t>(stage) * figures + 2 * kind;
    sum[0] += seconds;
    sum[1] += 1.0;
  }

  schedule::program_view program_;
  std::vector<double> sums_;
  std::vector<schedule::stage_cost> stages_;
  double least_reduction_ = std::numeric_limits<double>::infinity();
  double least_norm_ = std::numeric_limits<double>::infinity();
};

}  // namespace weft::inline v1::profiling
