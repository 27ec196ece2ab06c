// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1::schedule {

/// How long one pass of one stage takes, in any one unit. B takes `backward_input + backward_weight`, R takes
/// `forward`.
struct stage_cost {
  double forward = 1.0;
  double backward_input = 1.0;
  double backward_weight = 1.0;
};

/// Durations for `cost`. The default is the field's unit: F = I = W = 1, B = 2, no time for anything else.
struct cost_model {
  stage_cost every = {};               ///< of stages without an entry of their own
  stage_cost const* stages = nullptr;  ///< one per stage, or null
  double hop = 0.0;                    ///< from post (both sides) to arrival of a message between two ranks
  double reduce_gradient = 0.0;
  double norm = 0.0;
  double step = 0.0;

  [[nodiscard]] constexpr stage_cost const& of(int stage) const { return stages != nullptr ? stages[stage] : every; }
};

/// One action on the time axis.
struct timed_action {
  action what;
  int rank = 0;
  double begin = 0.0;
  double end = 0.0;
};

struct rank_time {
  double busy = 0.0;   ///< sum of durations
  double first = 0.0;  ///< begin of the first compute action
  double last = 0.0;   ///< end of the last action
};

/// The plan's time. `complete` is false for a program that cannot be played (ask `play` why).
struct cost_summary {
  bool complete = false;
  double makespan = 0.0;    ///< from 0 to the last end on any rank
  double busiest = 0.0;     ///< most busy time of a rank
  double idle_most = 0.0;   ///< most idle time of a rank against the makespan
  double idle_total = 0.0;  ///< over all ranks

  /// Idle time of all ranks over makespan * ranks: 0 is ideal. (Megatron's paper divides by the useful time instead.)
  [[nodiscard]] constexpr double idle_share(int ranks) const {
    return makespan > 0.0 ? idle_total / (makespan * ranks) : 0.0;
  }
};

namespace detail {

/// Plays with clocks, under rendezvous. Ranks wait for named messages only, so a rank may run ahead in this loop
/// without any later rank changing its times.
class clockwork {
 public:
  constexpr clockwork(program_view const& view, cost_model const& durations)
      : program(view),
        model(durations),
        lines(view),
        micro_batches(view.micro_batches),
        position(view.ranks()),
        clock(view.ranks()),
        ended(view.graph.stages * view.graph.copies * micro_batches * 2),
        sent(lines.count() * micro_batches),
        received(lines.count() * micro_batches),
        blocker(lines.count() * micro_batches) {
    for (double& time : ended) time = -1.0;
    for (double& time : sent) time = -1.0;
    for (double& time : received) time = -1.0;
    find_posts();
  }

  /// `timeline` and `ranks` may be null; `timeline` has room for every action, in the order of rows.
  constexpr cost_summary run(timed_action* timeline, rank_time* ranks) {
    buffer<int> row_begin(program.ranks());
    for (int rank = 0, total = 0; rank < program.ranks(); ++rank) {
      row_begin[rank] = total;
      total += program.row(rank).size;
    }
    buffer<rank_time> times(program.ranks());
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < program.ranks(); ++rank) {
        row_view const row = program.row(rank);
        for (; position[rank] < row.size; ++position[rank]) {
          action const& cell = row[position[rank]];
          double const ready = ready_time(cell);
          if (ready < 0.0) break;
          double const begin = ready > clock[rank] ? ready : clock[rank];
          double const length = duration(cell);
          double const end = begin + length;
          if (length > 0.0 && times[rank].busy == 0.0) times[rank].first = begin;
          times[rank].busy += length;
          times[rank].last = end;
          clock[rank] = end;
          note(cell, end);
          if (timeline != nullptr) timeline[row_begin[rank] + position[rank]] = timed_action{cell, rank, begin, end};
          moved = true;
        }
      }
    }
    cost_summary result;
    result.complete = true;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      if (position[rank] != program.row(rank).size) result.complete = false;
      if (clock[rank] > result.makespan) result.makespan = clock[rank];
      if (times[rank].busy > result.busiest) result.busiest = times[rank].busy;
      if (ranks != nullptr) ranks[rank] = times[rank];
    }
    for (int rank = 0; rank < program.ranks(); ++rank) {
      double const idle = result.makespan - times[rank].busy;
      if (idle > result.idle_most) result.idle_most = idle;
      result.idle_total += idle;
    }
    return result;
  }

 private:
  /// Which sends share a slot: an action waits for the send before it in its output slot.
  constexpr void find_posts() {
    int most = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (action const& cell : program.row(rank)) {
        if (!is_post(cell)) continue;
        has_posts = true;
        if (cell.slot >= most) most = cell.slot + 1;
      }
    if (!has_posts || !program.is_lowered) return;
    buffer<int> last(lines.count() * most);
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (action const& cell : program.row(rank)) {
        if (!is_send(cell)) continue;
        int const channel = lines.channel_of(cell);
        int const micro_batch = static_cast<int>(cell.micro_batch);
        blocker[channel * micro_batches + micro_batch] = last[channel * most + cell.slot];
        last[channel * most + cell.slot] = micro_batch + 1;
      }
  }

  [[nodiscard]] constexpr double duration(action const& cell) const {
    stage_cost const& own = model.of(cell.stage);
    switch (cell.what) {
      case op::forward:
      case op::recompute: return own.forward;
      case op::backward: return own.backward_input + own.backward_weight;
      case op::backward_input: return own.backward_input;
      case op::backward_weight: return own.backward_weight;
      case op::forward_backward: return own.forward + own.backward_input + own.backward_weight;
      case op::reduce_gradient: return model.reduce_gradient;
      case op::norm: return model.norm;
      case op::step: return model.step;
      default: return 0.0;
    }
  }

  /// When the inputs of an action are there (and its output slot free); negative while that is not known.
  [[nodiscard]] constexpr double ready_time(action const& cell) const {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return 0.0;
    int const stage = cell.stage;
    int const micro_batch = static_cast<int>(cell.micro_batch);
    double latest = 0.0;
    int const first = forward ? lines.in_begin[stage] : lines.out_begin[stage];
    int const last = forward ? lines.in_begin[stage + 1] : lines.out_begin[stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? lines.in_edges[index] : index;
      int const wire = cell.copy * program.graph.edge_count + edge;
      topology::edge const line = program.graph.edges[edge];
      double time = -1.0;
      if (lines.crosses[wire] && has_posts) {
        int const message = (2 * wire + (forward ? 0 : 1)) * micro_batches + micro_batch;
        if (sent[message] >= 0.0 && received[message] >= 0.0)
          time = (sent[message] > received[message] ? sent[message] : received[message]) + model.hop;
      } else {
        int const other = forward ? line.source : line.destination;
        time = ended[2 * item_of(cell.copy, other, micro_batch) + (forward ? 0 : 1)];
        if (time >= 0.0 && lines.crosses[wire]) time += model.hop;
      }
      if (time < 0.0) return -1.0;
      if (time > latest) latest = time;
    }
    int const out_first = forward ? lines.out_begin[stage] : lines.in_begin[stage];
    int const out_last = forward ? lines.out_begin[stage + 1] : lines.in_begin[stage + 1];
    for (int index = out_first; has_posts && index < out_last; ++index) {
      int const edge = forward ? index : lines.in_edges[index];
      int const channel = 2 * (cell.copy * program.graph.edge_count + edge) + (forward ? 0 : 1);
      int const before = blocker[channel * micro_batches + micro_batch];
      if (before == 0) continue;
      int const message = channel * micro_batches + before - 1;
      if (sent[message] < 0.0 || received[message] < 0.0) return -1.0;
      double const time = (sent[message] > received[message] ? sent[message] : received[message]) + model.hop;
      if (time > latest) latest = time;
    }
    return latest;
  }

  constexpr void note(action const& cell, double end) {
    if (is_post(cell)) {
      int const message = lines.channel_of(cell) * micro_batches + static_cast<int>(cell.micro_batch);
      (is_send(cell) ? sent : received)[message] = end;
      return;
    }
    int const item = 2 * item_of(cell.copy, cell.stage, static_cast<int>(cell.micro_batch));
    if (cell.what == op::forward) ended[item] = end;
    if (cell.what == op::backward || cell.what == op::backward_input) ended[item + 1] = end;
  }

  [[nodiscard]] constexpr int item_of(int copy, int stage, int micro_batch) const {
    return (copy * program.graph.stages + stage) * micro_batches + micro_batch;
  }

  program_view program;
  cost_model model;
  channels<> lines;
  int micro_batches;
  bool has_posts = false;
  buffer<int> position;
  buffer<double> clock;
  buffer<double> ended;  ///< [item][forward, backward]; -1 before
  buffer<double> sent;   ///< [channel][micro-batch]: time of the post; -1 before
  buffer<double> received;
  buffer<int> blocker;  ///< [channel][micro-batch]: 1 + micro-batch whose send last used this one's slot, or 0
};

}  // namespace detail

/// Turns a playable program into time: every action begins when its row, its messages and its output slot allow.
/// Planner, pictures, tests and the measured-against-planned report all use this one function. Does not communicate.
///
/// `timeline` (room for every action, rows one after the other) and `ranks` (one each) may be null.
constexpr cost_summary cost(program_view const& program, cost_model const& model = {}, timed_action* timeline = nullptr,
                            rank_time* ranks = nullptr) {
  detail::clockwork work(program, model);
  return work.run(timeline, ranks);
}

/// The same, keeping the timeline.
struct timeline {
  cost_summary summary;
  weft::detail::buffer<timed_action> actions;
  weft::detail::buffer<rank_time> ranks;
};

constexpr timeline make_timeline(program_view const& program, cost_model const& model = {}) {
  int total = 0;
  for (int rank = 0; rank < program.ranks(); ++rank) total += program.row(rank).size;
  timeline result;
  result.actions = weft::detail::buffer<timed_action>(total);
  result.ranks = weft::detail::buffer<rank_time>(program.ranks());
  result.summary = cost(program, model, result.actions.data(), result.ranks.data());
  return result;
}

}  // namespace weft::inline v1::schedule
