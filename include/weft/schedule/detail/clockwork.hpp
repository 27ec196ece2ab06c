// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Longer than most headers: one play serves verdicts, times and induction, which may never read a program differently.

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/timing.hpp>

namespace weft::inline v1::schedule::detail {

/// Piecewise constant speed: when does `work` that begins at `begin` end? `applies(window)` picks the windows.
template <class Window, class Applies>
constexpr double end_of(double begin, double work, Window const* windows, int count, Applies const& applies) {
  double now = begin;
  while (true) {
    double factor = 1.0;
    double change = 1e300;
    for (int index = 0; index < count; ++index) {
      Window const& each = windows[index];
      if (!applies(each) || each.end <= now) continue;
      if (each.begin <= now) factor *= each.factor;
      double const next = each.begin > now ? each.begin : each.end;
      if (next < change) change = next;
    }
    if (now + work * factor <= change || change >= 1e300) return now + work * factor;
    work -= (change - now) / factor;
    now = change;
  }
}

/// Plays with clocks, under rendezvous. Ranks wait for named messages only, so a rank may run ahead in this loop
/// without any later rank changing its times.
///
/// Longer than most headers: messages, queues, reductions and fused pairs share one state.
class clockwork {
 public:
  constexpr clockwork(program_view const& view, cost_model const& durations)
      : program(view),
        model(durations),
        lines(view),
        micro_batches(view.micro_batches),
        position(view.ranks()),
        times(view.ranks()),
        clock(view.ranks()),
        lane(view.ranks()),
        fused(view.ranks()),
        arrival(lines.count() * micro_batches),
        blocker(lines.count() * micro_batches) {
    for (double& time : arrival) time = -1.0;
    find_posts();
    find_wires();
    find_meetings();
  }

  /// Lets every rank go as far as it can; true if any moved. `timeline` and `waits` ([rank][the rank it waited for])
  /// may be null.
  constexpr bool advance(timed_action* timeline, double* waits) {
    bool any = false;
    for (bool moved = true; moved; any = any || moved) {
      moved = false;
      for (int rank = 0; rank < program.ranks(); ++rank) moved = go(rank, timeline, waits) || moved;
    }
    return any;
  }

  [[nodiscard]] constexpr cost_summary summary(rank_time* ranks) const {
    cost_summary result;
    result.complete = true;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      if (position[rank] != program.row(rank).size) result.complete = false;
      if (clock[rank] > result.makespan) result.makespan = clock[rank];
      if (lane[rank] > result.makespan) result.makespan = lane[rank];
      if (times[rank].busy > result.busiest) result.busiest = times[rank].busy;
      if (times[rank].span() > result.longest_span) result.longest_span = times[rank].span();
      if (ranks != nullptr) ranks[rank] = times[rank];
    }
    for (int rank = 0; rank < program.ranks(); ++rank) {
      double const idle = result.makespan - times[rank].busy;
      if (idle > result.idle_most) result.idle_most = idle;
      result.idle_total += idle;
    }
    return result;
  }

  // Where several pipelines share their reductions: each is told when all have come.

  /// From now on REDUCE_GRAD over the data axis ends when `end_reduction` says so.
  constexpr void share_reductions() {
    shared = true;
    reached = buffer<double>(program.graph.stages * program.graph.copies);
    for (double& time : reached) time = -1.0;
  }
  /// When this pipeline can begin with the reduction of a stage that waits; negative where none does.
  [[nodiscard]] constexpr double reduction_begin(int which) const {
    double const free = lane[program.graph.rank_of_stage[which]];
    return reached[which] < 0.0 || reached[which] > free ? reached[which] : free;
  }
  constexpr void end_reduction(int which, double end) {
    int const rank = program.graph.rank_of_stage[which];
    if (end > lane[rank]) lane[rank] = end;
    if (end > times[rank].last) times[rank].last = end;
    reached[which] = -1.0;
    --pending[rank];
  }
  [[nodiscard]] constexpr double reduction_time(int stage) const {
    return model.reductions != nullptr ? model.reductions[stage] : model.reduce_data;
  }

 private:
  /// Runs one rank up to the first action that must wait for another rank's future.
  constexpr bool go(int rank, timed_action* timeline, double* waits) {
    row_view const row = program.row(rank);
    int const from = position[rank];
    int offset = timeline == nullptr ? 0 : row_begin[rank];
    for (; position[rank] < row.size; ++position[rank]) {
      action const& cell = row[position[rank]];
      op const what = cell.what;
      double begin = clock[rank];
      double end = begin;
      if (is_pass(what)) {
        if (cell.part == parts::fused_backward && fused[rank].end > 0.0) {
          begin = fused[rank].begin;
          end = fused[rank].end;
          fused[rank] = {};
          note_pass(cell, end);
        } else if (!run_pass(rank, row, begin, end, waits)) {
          break;
        }
      } else if (is_post(cell)) {
        if (!run_post(rank, cell, end)) break;
      } else if (!run_other(rank, cell, begin, end)) {
        break;
      }
      if (end > times[rank].last) times[rank].last = end;
      if (timeline != nullptr) timeline[offset + position[rank]] = timed_action{cell, rank, begin, end};
    }
    return position[rank] != from;
  }

  constexpr bool run_pass(int rank, row_view row, double& begin, double& end, double* waits) {
    action const& cell = row[position[rank]];
    int from = -1;  // the rank whose message came last
    double handling = 0.0;
    double const ready = ready_time(cell, from, handling);
    if (ready < 0.0) return false;
    if (ready > begin) begin = ready;
    stage_cost const& own = model.of(cell.stage, rank);
    double length = 0.0;
    int const partner = cell.part == parts::fused_forward ? fused_backward(row, position[rank] + 1) : -1;
    if (partner >= 0) {
      double const other = ready_time(row[partner], from, handling);
      if (other < 0.0) return false;
      if (other > begin) begin = other;
      length = own.overlapped > 0.0 ? own.overlapped : duration(own, cell.what) + duration(own, row[partner].what);
    } else {
      length = duration(own, cell.what);
    }
    rank_time& time = times[rank];
    if (begin > clock[rank] && time.has_pass) {
      time.waited += begin - clock[rank];
      if (waits != nullptr && from >= 0) waits[rank * program.ranks() + from] += begin - clock[rank];
    }
    begin += handling;
    end = elapse(rank, begin, length);
    time.messages += handling;
    if (!time.has_pass) time.first = begin;
    time.has_pass = true;
    time.busy += end - begin;
    time.passes_end = end;
    clock[rank] = end;
    if (partner >= 0) fused[rank] = {begin, end};
    note_pass(cell, end);
    if (!has_posts) send_at_once(rank, cell);
    if (!has_posts && partner >= 0) send_at_once(rank, row[partner]);
    return true;
  }

  /// A post takes `send_busy`; under `transfer::blocks` a send holds its row until the message has arrived.
  constexpr bool run_post(int rank, action const& cell, double& end) {
    int const channel = lines.channel_of(cell);
    int const message = channel * micro_batches + static_cast<int>(cell.micro_batch);
    if (is_send(cell)) {
      if (sent[message] < 0.0) {
        sent[message] = clock[rank] + links[channel].send_busy;
        enqueue(channel, message);
        deliver(queue_of[channel]);
      }
      end = sent[message];
      if (model.messages == transfer::blocks) {
        if (arrival[message] < 0.0) return false;
        end = arrival[message];
      }
      times[rank].messages += end - clock[rank];
      clock[rank] = end;
    } else {
      received[message] = clock[rank];
      deliver(queue_of[channel]);
    }
    return true;
  }

  constexpr bool run_other(int rank, action const& cell, double& begin, double& end) {
    rank_time& time = times[rank];
    if (cell.what == op::reduce_gradient) {
      note_reduction(rank, cell, end);
      return true;
    }
    double length = 0.0;
    bool const is_norm = cell.what == op::norm || cell.what == op::partial_norm;
    if (is_norm) {
      double const ready = norm_ready(rank, cell.what == op::norm ? model.norm_waits : norm_wait::rank_before);
      if (ready < 0.0) return false;
      if (ready > begin) begin = ready;
      length = model.norm;
    } else if (cell.what == op::step) {
      if (pending[rank] > 0) return false;
      if (lane[rank] > begin) begin = lane[rank];
      length = model.steps != nullptr ? model.steps[cell.stage] : model.step;
    } else if (cell.what == op::unshard || cell.what == op::reshard) {
      length = model.unshard;
    }
    end = cell.what == op::step ? elapse(rank, begin, length) : begin + length;
    time.busy += end - begin;
    clock[rank] = end;
    if (is_norm) note_norm(rank, end);
    return true;
  }

  // --- passes

  [[nodiscard]] static constexpr bool is_pass(op what) { return what >= op::forward && what <= op::forward_backward; }

  /// The position of a fused forward's other half, or -1. (A position, since not every compiler compares addresses.)
  [[nodiscard]] static constexpr int fused_backward(row_view row, int next) {
    for (; next < row.size; ++next)
      if (is_pass(row[next].what)) return row[next].part == parts::fused_backward ? next : -1;
    return -1;
  }

  [[nodiscard]] static constexpr double duration(stage_cost const& own, op what) {
    switch (what) {
      case op::forward:
      case op::recompute: return own.forward;
      case op::backward: return own.backward_input + own.backward_weight;
      case op::backward_input: return own.backward_input;
      case op::backward_weight: return own.backward_weight;
      case op::forward_backward:
        return own.overlapped > 0.0 ? own.overlapped : own.forward + own.backward_input + own.backward_weight;
      default: return 0.0;
    }
  }

  [[nodiscard]] constexpr double elapse(int rank, double begin, double work) const {
    if (model.rank_factors != nullptr) work *= model.rank_factors[rank];
    if (model.slowdown_count == 0) return begin + work;
    return end_of(begin, work, model.slowdowns, model.slowdown_count,
                  [rank](slowdown const& each) { return each.rank == rank; });
  }

  /// When the inputs of a pass are there (and its output slot free); negative while that is not known. `from`: the rank
  /// whose message was the last; `handling`: what its messages cost the rank itself, added.
  [[nodiscard]] constexpr double ready_time(action const& cell, int& from, double& handling) const {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return 0.0;
    int const stage = cell.stage;
    int const micro_batch = static_cast<int>(cell.micro_batch);
    int const wires = cell.copy * program.graph.edge_count;
    int const direction = forward ? 0 : 1;
    double latest = 0.0;
    int const first = forward ? lines.in_begin[stage] : lines.out_begin[stage];
    int const last = forward ? lines.in_begin[stage + 1] : lines.out_begin[stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? lines.in_edges[index] : index;
      int const channel = 2 * (wires + edge) + direction;
      double const time = arrival[channel * micro_batches + micro_batch];
      if (time < 0.0) return -1.0;
      if (lines.crosses[wires + edge]) handling += links[channel].receive_busy;
      if (time <= latest) continue;
      latest = time;
      if (lines.crosses[wires + edge]) from = links[channel].source;
    }
    if (!has_posts) return latest;
    int const out_first = forward ? lines.out_begin[stage] : lines.in_begin[stage];
    int const out_last = forward ? lines.out_begin[stage + 1] : lines.in_begin[stage + 1];
    for (int index = out_first; index < out_last; ++index) {
      int const edge = forward ? index : lines.in_edges[index];
      int const channel = 2 * (wires + edge) + direction;
      int const before = blocker[channel * micro_batches + micro_batch];
      if (before == 0) continue;
      double const time = arrival[channel * micro_batches + before - 1];
      if (time < 0.0) return -1.0;
      if (time <= latest) continue;
      latest = time;
      from = links[channel].destination;
    }
    return latest;
  }

  /// What a pass hands to a stage on the same rank is there when the pass ends.
  constexpr void note_pass(action const& cell, double end) {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return;
    int const wires = cell.copy * program.graph.edge_count;
    int const first = forward ? lines.out_begin[cell.stage] : lines.in_begin[cell.stage];
    int const last = forward ? lines.out_begin[cell.stage + 1] : lines.in_begin[cell.stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? index : lines.in_edges[index];
      if (lines.crosses[wires + edge]) continue;
      arrival[(2 * (wires + edge) + (forward ? 0 : 1)) * micro_batches + static_cast<int>(cell.micro_batch)] = end;
    }
  }

  // --- messages

  /// One direction of one edge as the simulation needs it.
  struct link_time {
    double transfer = 0.0;
    double latency = 0.0;
    double send_busy = 0.0;
    double receive_busy = 0.0;
    int source = 0;  ///< ranks
    int destination = 0;
  };

  /// Which sends share a slot: an action waits for the send before it in its output slot.
  constexpr void find_posts() {
    int most = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (action const& cell : program.row(rank)) {
        if (!is_post(cell)) continue;
        has_posts = true;
        if (cell.slot >= most) most = cell.slot + 1;
      }
    sent = buffer<double>(has_posts ? lines.count() * micro_batches : 0);
    received = buffer<double>(sent.size());
    for (double& time : sent) time = -1.0;
    for (double& time : received) time = -1.0;
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

  constexpr void find_wires() {
    auto const& graph = program.graph;
    links = buffer<link_time>(lines.count());
    queue_of = buffer<int>(lines.count());
    for (int channel = 0; channel < lines.count(); ++channel) {
      int const edge = channel / 2 % graph.edge_count;
      int const copy = channel / 2 / graph.edge_count;
      int const before = graph.rank_of(graph.edges[edge].source, copy);
      int const behind = graph.rank_of(graph.edges[edge].destination, copy);
      link_cost const& own = model.of_edge(edge);
      link_time& link = links[channel];
      link.transfer = own.transfer();
      link.latency = model.hop + own.latency;
      link.send_busy = own.send_busy;
      link.receive_busy = own.receive_busy;
      link.source = channel % 2 == 0 ? before : behind;
      link.destination = channel % 2 == 0 ? behind : before;
      if (link.transfer > 0.0) takes_wires = true;
      queue_of[channel] = channel;
      for (int other = 0; model.queue == wire::per_rank_pair && other < channel; ++other)
        if (links[other].source == link.source && links[other].destination == link.destination) {
          queue_of[channel] = other;
          break;
        }
    }
    wire_free = buffer<double>(takes_wires ? lines.count() : 0);
    if (!has_posts) return;
    // Messages of one queue as a list, in the order of their sends.
    queue_next = buffer<int>(lines.count() * micro_batches);
    queue_head = buffer<int>(lines.count());
    queue_tail = buffer<int>(lines.count());
  }

  constexpr void enqueue(int channel, int message) {
    int const queue = queue_of[channel];
    if (queue_head[queue] == 0)
      queue_head[queue] = message + 1;
    else
      queue_next[queue_tail[queue] - 1] = message + 1;
    queue_tail[queue] = message + 1;
  }

  /// Lets the messages at the head of a queue travel for which both sides have posted.
  constexpr void deliver(int queue) {
    while (queue_head[queue] != 0) {
      int const message = queue_head[queue] - 1;
      if (received[message] < 0.0) return;
      double const posted = sent[message] > received[message] ? sent[message] : received[message];
      arrival[message] = travel(message / micro_batches, posted);
      queue_head[queue] = queue_next[message];
    }
  }

  /// When a message that may leave at `posted` arrives.
  constexpr double travel(int channel, double posted) {
    link_time const& link = links[channel];
    double begin = posted;
    if (takes_wires && wire_free[queue_of[channel]] > begin) begin = wire_free[queue_of[channel]];
    double factor = 1.0;
    for (int index = 0; index < model.slow_link_count; ++index) {
      slow_link const& slow = model.slow_links[index];
      if (slow.source == link.source && slow.destination == link.destination && begin >= slow.begin && begin < slow.end)
        factor *= slow.factor;
    }
    double const taken = begin + link.transfer * factor;
    if (takes_wires) wire_free[queue_of[channel]] = taken;
    return taken + link.latency * factor;
  }

  /// A table without posts: every message is sent by its producer and its receive stands ready.
  constexpr void send_at_once(int rank, action const& cell) {
    bool const forward = cell.what == op::forward;
    if (!forward && cell.what != op::backward && cell.what != op::backward_input) return;
    int const wires = cell.copy * program.graph.edge_count;
    int const first = forward ? lines.out_begin[cell.stage] : lines.in_begin[cell.stage];
    int const last = forward ? lines.out_begin[cell.stage + 1] : lines.in_begin[cell.stage + 1];
    for (int index = first; index < last; ++index) {
      int const edge = forward ? index : lines.in_edges[index];
      if (!lines.crosses[wires + edge]) continue;
      int const channel = 2 * (wires + edge) + (forward ? 0 : 1);
      double const before = clock[rank];
      clock[rank] += links[channel].send_busy;
      double const arrived = travel(channel, clock[rank]);
      arrival[channel * micro_batches + static_cast<int>(cell.micro_batch)] = arrived;
      if (model.messages == transfer::blocks) clock[rank] = arrived;
      times[rank].messages += clock[rank] - before;
    }
  }

  // --- reductions, NORM

  /// How often ranks meet, and how many take part: the n-th NORM of all ranks is one, the n-th REDUCE_GRAD of tied
  /// parameters of all stages that have any is one.
  constexpr void find_meetings() {
    pending = buffer<int>(program.ranks());
    tied_count = buffer<int>(program.graph.stages * program.graph.copies);
    norm_count = buffer<int>(program.ranks());
    int most_norms = 0;
    int most_tied = 0;
    row_begin = buffer<int>(program.ranks());
    for (int rank = 0, total = 0; rank < program.ranks(); ++rank) {
      row_view const row = program.row(rank);
      row_begin[rank] = total;
      total += row.size;
      for (action const& cell : row) {
        if (cell.what == op::norm || cell.what == op::partial_norm) ++norm_count[rank];
        if (cell.what == op::reduce_gradient && cell.group == static_cast<std::uint8_t>(reduction::tied))
          ++tied_count[cell.copy * program.graph.stages + cell.stage];
      }
      if (norm_count[rank] > most_norms) most_norms = norm_count[rank];
      if (norm_count[rank] > 0) ++norm_ranks;
      norm_count[rank] = 0;
    }
    for (int& count : tied_count) {
      if (count > most_tied) most_tied = count;
      if (count > 0) ++tied_stages_left;
      count = 0;
    }
    norm_met = buffer<meeting>(most_norms);
    norm_at = buffer<bool>(program.ranks());
    norm_ended = buffer<double>(norm_ranks > 0 ? program.ranks() : 0);
    tied_met = buffer<meeting>(most_tied);
    tied_waits = buffer<bool>(most_tied * program.ranks());
  }

  struct meeting {
    int came = 0;
    double latest = 0.0;
  };

  /// A reduction begins at its place, overlaps with what follows, and keeps NORM and STEP of its rank waiting. One rank
  /// does one at a time.
  constexpr void note_reduction(int rank, action const& cell, double& end) {
    int const which = cell.copy * program.graph.stages + cell.stage;
    if (cell.group == static_cast<std::uint8_t>(reduction::tied)) {
      meeting& met = tied_met[tied_count[which]++];
      int const turn = tied_count[which] - 1;
      if (clock[rank] > met.latest) met.latest = clock[rank];
      if (!tied_waits[turn * program.ranks() + rank]) ++pending[rank];
      tied_waits[turn * program.ranks() + rank] = true;
      if (++met.came < tied_stages_left) return;
      for (int each = 0; each < program.ranks(); ++each) {
        if (!tied_waits[turn * program.ranks() + each]) continue;
        double const begin = lane[each] > met.latest ? lane[each] : met.latest;
        lane[each] = begin + model.reduce_gradient;
        if (lane[each] > times[each].last) times[each].last = lane[each];
        --pending[each];
      }
      if (lane[rank] > end) end = lane[rank];
      return;
    }
    // Over copies and the data axis it is one sum, and has begun.
    if (program.work.reduces_over_copies && cell.group == static_cast<std::uint8_t>(reduction::data)) return;
    if (shared) {
      reached[which] = clock[rank];
      ++pending[rank];
      return;
    }
    double const begin = lane[rank] > clock[rank] ? lane[rank] : clock[rank];
    lane[rank] = end = begin + reduction_time(cell.stage);
  }

  /// When NORM may begin; negative while that is not known.
  constexpr double norm_ready(int rank, norm_wait waits) {
    if (pending[rank] > 0) return -1.0;
    double const own = lane[rank] > clock[rank] ? lane[rank] : clock[rank];
    if (waits == norm_wait::nobody) return own;
    if (waits == norm_wait::rank_before) {
      if (rank == 0) return own;
      if (norm_count[rank - 1] <= norm_count[rank]) return -1.0;
      double const before = norm_ended[rank - 1] + model.hop + model.link.latency;
      return before > own ? before : own;
    }
    meeting& met = norm_met[norm_count[rank]];
    if (!norm_at[rank]) {
      norm_at[rank] = true;
      ++met.came;
      if (own > met.latest) met.latest = own;
    }
    return met.came == norm_ranks ? met.latest : -1.0;
  }

  constexpr void note_norm(int rank, double end) {
    ++norm_count[rank];
    norm_at[rank] = false;
    norm_ended[rank] = end;
  }

  struct pair_time {
    double begin = 0.0;
    double end = 0.0;
  };

  program_view program;
  cost_model model;
  channels<> lines;
  int micro_batches;
  bool has_posts = false;
  bool takes_wires = false;  ///< some transfer takes time
  bool shared = false;
  buffer<int> position;
  buffer<rank_time> times;
  buffer<double> clock;
  buffer<double> lane;      ///< per rank: end of the last reduction
  buffer<pair_time> fused;  ///< per rank: the fused pair whose forward is noted and whose backward is not
  buffer<double> arrival;   ///< [channel][micro-batch]; -1 before it is known
  buffer<int> blocker;      ///< [channel][micro-batch]: 1 + micro-batch whose send last used this one's slot, or 0
  buffer<double> sent;      ///< [channel][micro-batch]: time of the post; -1 before
  buffer<double> received;
  buffer<link_time> links;   ///< [channel]
  buffer<int> queue_of;      ///< [channel]
  buffer<double> wire_free;  ///< [queue]
  buffer<int> queue_next;    ///< [message]: 1 + next message
  buffer<int> queue_head;
  buffer<int> queue_tail;
  buffer<int> row_begin;
  buffer<int> pending;  ///< per rank: reductions that began and whose end is not known
  buffer<double> reached;
  buffer<int> norm_count;  ///< per rank: NORMs done
  buffer<meeting> norm_met;
  buffer<bool> norm_at;  ///< per rank: has come to its next NORM
  buffer<double> norm_ended;
  int norm_ranks = 0;
  buffer<int> tied_count;  ///< per stage: tied reductions come to
  buffer<meeting> tied_met;
  buffer<bool> tied_waits;  ///< [meeting][rank]
  int tied_stages_left = 0;
};

}  // namespace weft::inline v1::schedule::detail
