// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/op.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// One action of a row; its micro-batch is the next of that op on that stage.
struct order_step {
  op what = op::none;
  int stage = 0;
};

/// F, then I or B, then W.
constexpr int kind_of(op what) { return what == op::forward ? 0 : what == op::backward_weight ? 2 : 1; }

/// What a search for an order knows: a chain of stages on ranks, how long passes and hops take, how much a rank may
/// keep. Micro-batches are alike, so each stage takes them in ascending order, and an order is a row of (op, stage).
struct order_problem {
  int ranks = 0;
  int stages = 0;
  int micro_batches = 0;
  bool splits = true;        ///< F, I, W; otherwise F, B (whose duration is `input`)
  buffer<int> rank_of;       ///< [stage]
  buffer<double> forward;    ///< [stage]
  buffer<double> input;      ///< of I, or of B
  buffer<double> weight;     ///< of W
  buffer<double> hop;        ///< [stage]: to the next stage and back; 0 on one rank
  double limit = 1e300;      ///< activations of one stage that a rank may keep
  double after_input = 1.0;  ///< what I leaves of an activation until W, as part of the whole

  [[nodiscard]] constexpr int passes() const { return splits ? 3 : 2; }
  [[nodiscard]] constexpr int actions() const { return passes() * stages * micro_batches; }

  [[nodiscard]] constexpr double length(order_step const& step) const {
    return step.what == op::forward           ? forward[step.stage]
           : step.what == op::backward_weight ? weight[step.stage]
                                              : input[step.stage];
  }
  /// What an action adds to the activations that the limit counts.
  [[nodiscard]] constexpr double held_by(op what) const {
    if (what == op::forward) return 1.0;
    return what == op::backward ? -1.0 : what == op::backward_input ? after_input - 1.0 : -after_input;
  }

  /// What each rank has to do.
  [[nodiscard]] constexpr double work(int rank) const {
    double total = 0.0;
    for (int stage = 0; stage < stages; ++stage)
      if (rank_of[stage] == rank)
        total += micro_batches * (forward[stage] + input[stage] + (splits ? weight[stage] : 0));
    return total;
  }
};

/// Durations and hops as a cost model has them; queues and blocking transports are left to `cost`.
constexpr order_problem make_order_problem(topology::stage_graph_view const& graph, int micro_batches, bool splits,
                                           cost_model const& model) {
  order_problem result;
  result.ranks = graph.ranks;
  result.stages = graph.stages;
  result.micro_batches = micro_batches;
  result.splits = splits;
  result.rank_of = buffer<int>(graph.stages);
  result.forward = buffer<double>(graph.stages);
  result.input = buffer<double>(graph.stages);
  result.weight = buffer<double>(graph.stages);
  result.hop = buffer<double>(graph.stages);
  for (int stage = 0; stage < graph.stages; ++stage) {
    int const rank = graph.rank_of(stage);
    double const factor = model.rank_factors != nullptr ? model.rank_factors[rank] : 1.0;
    stage_cost const& own = model.of(stage, rank);
    result.rank_of[stage] = rank;
    result.forward[stage] = factor * own.forward;
    result.input[stage] = factor * (splits ? own.backward_input : own.backward_input + own.backward_weight);
    result.weight[stage] = splits ? factor * own.backward_weight : 0.0;
    if (stage + 1 == graph.stages || graph.rank_of(stage + 1) == rank) continue;
    link_cost const& link = model.of_edge(stage);  // of a chain: from this stage to the next
    result.hop[stage] = model.hop + link.latency + link.transfer() + link.send_busy + link.receive_busy;
  }
  return result;
}

/// Rows of equal room, one after the other.
struct order_rows {
  int width = 0;
  buffer<order_step> steps;  ///< [rank * width + position]
  buffer<int> size;          ///< [rank]

  constexpr order_rows() = default;
  explicit constexpr order_rows(order_problem const& problem) : size(problem.ranks) {
    for (int stage = 0; stage < problem.stages; ++stage) size[problem.rank_of[stage]] += 1;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      int const room = size[rank] * problem.passes() * problem.micro_batches;
      if (room > width) width = room;
      size[rank] = 0;
    }
    steps = buffer<order_step>(width * problem.ranks);
  }

  /// Micro-batches of one stage that a rank keeps from F to its last backward.
  [[nodiscard]] constexpr int peak_of(int rank) const {
    int kept = 0;
    int peak = 0;
    for (int position = 0; position < size[rank]; ++position) {
      op const what = steps[rank * width + position].what;
      kept += what == op::forward ? 1 : what == op::backward_input ? 0 : -1;
      if (kept > peak) peak = kept;
    }
    return peak;
  }

  constexpr void put(int rank, op what, int stage) { steps[rank * width + size[rank]++] = {what, stage}; }

  /// Writes the rows with their micro-batches: `write(rank, op, stage, micro_batch)`.
  template <class Writer>
  constexpr void write(int stages, Writer& write) const {
    buffer<int> next(3 * stages);
    for (int rank = 0; rank < size.size(); ++rank)
      for (int position = 0; position < size[rank]; ++position) {
        order_step const& each = steps[rank * width + position];
        write(rank, each.what, each.stage, next[3 * each.stage + kind_of(each.what)]++);
      }
  }
};

/// How good an order is: the smaller the better.
struct order_score {
  double longest_span = 1e300;  ///< of a rank, from its first pass to the end of its last
  double makespan = 1e300;
  int peak = 0;  ///< micro-batches of one stage that a rank keeps from F to its last backward

  [[nodiscard]] constexpr bool found() const { return makespan < 1e300; }
};

/// Equal times differ by rounding alone.
constexpr bool is_shorter(double one, double other) { return one < other - 1e-9 * other; }

}  // namespace weft::inline v1::schedule::detail
