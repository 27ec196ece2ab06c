// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/table.hpp>

namespace weft::inline v1::schedule {

/// Which stages hold parameters that other stages hold too, and so take part in a REDUCE_GRAD.
enum class tied_stages : std::uint8_t { none, first_and_last };

struct lower_options {
  bool recompute = false;                         ///< R before each B or I; F keeps nothing but the stage's input
  tied_stages tied = tied_stages::first_and_last; ///< who gets a REDUCE_GRAD (training programs only)
  bool optimizer = true;                          ///< NORM and STEP at the end (training programs only)
  int send_slots = 2;                             ///< output buffers per direction of an edge, to begin with
  int receive_ahead = 1;                          ///< forward receives posted beyond the micro-batches in flight
};

namespace detail {

/// Writes the lowered rows once, with a given number of send slots. The order of everything:
///
///     row start       receives of every stage, as many as there are slots
///     R               under recompute, before B or I
///     F / B / I / W   the table's own order
///     SEND_F / SEND_B right after F / after B or I
///     RECV_F, RECV_B  right after the action that frees their slot
///     row end         REDUCE_GRAD, NORM, STEP
///
/// Receives of a channel are posted in the order in which the other rank sends, never in the order of use.
class lowering {
 public:
  constexpr lowering(program_view const& view, lower_options const& chosen)
      : table(view),
        options(chosen),
        lines(view.graph),
        stage_count(view.graph.stages * view.graph.copies),
        micro_batches(view.micro_batches),
        counts(stage_count),
        order(lines.count() * micro_batches),
        order_size(lines.count()),
        extra(lines.count()) {
    survey();
  }

  /// False when a receive could not be posted before its use for want of a slot; `extra` is then one larger.
  constexpr bool write(program& out) {
    buffer<slot_counts> found(stage_count);
    posted = buffer<int>(lines.count());
    slot_of = buffer<int>(lines.count() * micro_batches);
    sent = buffer<int>(lines.count());
    for (int rank = 0; rank < table.ranks(); ++rank) {
      if (!write_row(rank, found.data(), out.cursor())) return false;
      out.advance(written);
      out.end_row();
    }
    out.set_slots(static_cast<buffer<slot_counts>&&>(found));
    return true;
  }

  /// Actions of all lowered rows together; exact where the table holds nothing that is dropped.
  [[nodiscard]] constexpr int action_count() const {
    int total = 0;
    for (int rank = 0; rank < table.ranks(); ++rank) total += table.row(rank).size + (training() && options.optimizer);
    for (int channel = 0; channel < lines.count(); ++channel) total += 2 * order_size[channel];
    for (int stage = 0; stage < stage_count; ++stage) {
      if (options.recompute) total += backwards(stage);
      if (training() && has_backward(stage % table.stages())) total += options.optimizer + is_tied(stage % table.stages());
    }
    return total;
  }

 private:
  struct in_flight {
    int activations = 0;  ///< F done, last backward not
    int peak = 0;
    int contexts = 0;  ///< I done, W not
    int peak_contexts = 0;
    int backwards = 0;
  };

  [[nodiscard]] static constexpr bool is_pass(op what) {
    return what == op::forward || what == op::backward || what == op::backward_input || what == op::backward_weight;
  }
  [[nodiscard]] constexpr bool training() const { return table.work.backward; }
  [[nodiscard]] constexpr bool has_backward(int stage) const {
    return table.work.backward && stage >= table.work.frozen_prefix_stages;
  }
  [[nodiscard]] constexpr bool is_tied(int stage) const {
    return options.tied == tied_stages::first_and_last && (stage == 0 || stage == table.stages() - 1);
  }
  [[nodiscard]] constexpr int backwards(int stage) const { return counts[stage].backwards; }

  /// One pass over the table: micro-batches in flight per stage, and the order of messages per channel.
  constexpr void survey() {
    auto const& graph = table.graph;
    in_flight* const flights = counts.data();
    int const* const out_begin = lines.out_begin.data();
    int const* const in_begin = lines.in_begin.data();
    for (int rank = 0; rank < table.ranks(); ++rank) {
      row_view const row = table.row(rank);
      action const* const end = row.end();
      for (action const* cell = row.begin(); cell != end; ++cell) {
        int const stage = cell->stage;
        op const what = cell->what;
        in_flight& flight = flights[cell->copy * graph.stages + stage];
        if (what == op::forward) {
          if (has_backward(stage) && ++flight.activations > flight.peak) flight.peak = flight.activations;
          for (int edge = out_begin[stage]; edge < out_begin[stage + 1]; ++edge)
            note(edge, cell->copy, 0, static_cast<int>(cell->micro_batch));
          continue;
        }
        if (what == op::backward_input || what == op::backward) {
          ++flight.backwards;
          for (int index = in_begin[stage]; index < in_begin[stage + 1]; ++index)
            if (has_backward(graph.edges[lines.in_edges[index]].source))
              note(lines.in_edges[index], cell->copy, 1, static_cast<int>(cell->micro_batch));
        }
        if (what == op::backward_input && ++flight.contexts > flight.peak_contexts) flight.peak_contexts = flight.contexts;
        if (what == op::backward_weight) --flight.contexts;
        if (what == op::backward_weight || what == op::backward) --flight.activations;
      }
    }
  }

  constexpr void note(int edge, int copy, int direction, int micro_batch) {
    int const wire = copy * table.graph.edge_count + edge;
    if (!lines.crosses[wire]) return;
    int const channel = 2 * wire + direction;
    order[channel * micro_batches + order_size[channel]++] = micro_batch;
  }

  [[nodiscard]] constexpr int receive_slots(int channel, in_flight const& flight) const {
    int const wanted = (channel % 2 == 0 ? (flight.peak > 0 ? flight.peak : 1) + options.receive_ahead
                                         : 2 + flight.peak_contexts) +
                       extra[channel];
    return wanted < order_size[channel] ? wanted : order_size[channel];
  }

  constexpr void put(op what, lane where, action const& like, int group, int slot) {
    next->what = what;
    next->where = where;
    next->stage = like.stage;
    next->micro_batch = like.micro_batch;
    next->copy = like.copy;
    next->group = static_cast<std::uint8_t>(group);
    next->slot = static_cast<std::uint16_t>(slot);
    ++next;
  }

  /// Posts the next receive of a channel into `slot`, if any message is left.
  constexpr void receive(int channel, int stage, int copy, int group, int slot) {
    int const position = posted[channel];
    if (position == order_size[channel]) return;
    posted[channel] = position + 1;
    int const micro_batch = order[channel * micro_batches + position];
    slot_of[channel * micro_batches + micro_batch] = slot + 1;
    next->what = channel % 2 == 0 ? op::receive_forward : op::receive_backward;
    next->where = lane::communication;
    next->stage = static_cast<std::uint16_t>(stage);
    next->micro_batch = static_cast<std::uint32_t>(micro_batch);
    next->copy = static_cast<std::uint8_t>(copy);
    next->group = static_cast<std::uint8_t>(group);
    next->slot = static_cast<std::uint16_t>(slot);
    ++next;
  }

  /// For every channel that brings messages to this stage: `visit(channel, group, forward)`.
  constexpr int in_channel(int index, int copy) const { return 2 * (copy * table.graph.edge_count + lines.in_edges[index]); }
  constexpr int out_channel(int edge, int copy) const { return 2 * (copy * table.graph.edge_count + edge); }

  constexpr void first_receives(int rank, slot_counts* found) {
    auto const& graph = table.graph;
    for (int copy = 0; copy < graph.copies; ++copy)
      for (int stage = 0; stage < graph.stages; ++stage) {
        if (graph.rank_of(stage, copy) != rank) continue;
        int const which = copy * graph.stages + stage;
        for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index) {
          int const channel = in_channel(index, copy);
          int const slots = receive_slots(channel, counts[which]);
          if (slots > found[which].receive_forward) found[which].receive_forward = slots;
          for (int slot = 0; slot < slots; ++slot) receive(channel, stage, copy, index - lines.in_begin[stage], slot);
        }
        for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge) {
          int const channel = out_channel(edge, copy) + 1;
          int const slots = receive_slots(channel, counts[which]);
          if (slots > found[which].receive_backward) found[which].receive_backward = slots;
          for (int slot = 0; slot < slots; ++slot) receive(channel, stage, copy, edge - lines.out_begin[stage], slot);
        }
      }
  }

  /// Slots of one kind on one stage: the last one freed is the first one taken.
  struct slot_pool {
    buffer<int> free;
    buffer<int> of;  ///< per micro-batch
    int waiting = 0;
    int made = 0;

    constexpr int take(int micro_batch) {
      int const slot = waiting > 0 ? free[--waiting] : made++;
      of[micro_batch] = slot;
      return slot;
    }
    constexpr void give(int micro_batch) { free[waiting++] = of[micro_batch]; }
  };

  constexpr slot_pool new_pool() const {
    slot_pool pool;
    pool.free = buffer<int>(micro_batches);
    pool.of = buffer<int>(micro_batches);
    return pool;
  }

  constexpr bool write_row(int rank, slot_counts* found, action* begin) {
    auto const& graph = table.graph;
    next = begin;
    first_receives(rank, found);

    // Pools for the stages of this rank alone, found again by stage.
    buffer<int> pool_of(stage_count);
    int mine = 0;
    for (int which = 0; which < stage_count; ++which)
      if (graph.rank_of_stage[which] == rank) pool_of[which] = mine++;
    buffer<slot_pool> activations(mine);
    buffer<slot_pool> contexts(mine);
    for (int pool = 0; pool < mine; ++pool) {
      activations[pool] = new_pool();
      contexts[pool] = new_pool();
    }

    row_view const row = table.row(rank);
    for (action const* cell = row.begin(); cell != row.end(); ++cell) {
      if (!is_pass(cell->what)) continue;
      int const stage = cell->stage;
      int const copy = cell->copy;
      int const which = copy * graph.stages + stage;
      int const micro_batch = static_cast<int>(cell->micro_batch);
      slot_pool& kept = activations[pool_of[which]];
      bool const keeps = has_backward(stage);
      bool last = false;
      if (cell->what == op::forward) {
        for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index)
          if (!arrives(in_channel(index, copy), micro_batch)) return false;
        put(op::forward, lane::compute, *cell, 0, kept.take(micro_batch));
        if (!keeps || options.recompute) kept.give(micro_batch);
        for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge)
          send(op::send_forward, out_channel(edge, copy), *cell, edge - lines.out_begin[stage], found[which].send_forward);
        last = !keeps;
      } else {
        if (cell->what != op::backward_weight) {
          for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge)
            if (!arrives(out_channel(edge, copy) + 1, micro_batch)) return false;
          if (options.recompute) put(op::recompute, lane::compute, *cell, 0, kept.take(micro_batch));
        }
        last = cell->what != op::backward_input;
        int slot = kept.of[micro_batch];
        if (cell->what != op::backward) {
          slot_pool& pool = contexts[pool_of[which]];
          slot = last ? pool.of[micro_batch] : pool.take(micro_batch);
          if (last) pool.give(micro_batch);
        }
        put(cell->what, lane::compute, *cell, 0, slot);
        if (last) kept.give(micro_batch);
        if (cell->what != op::backward_weight)
          for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index)
            send(op::send_backward, in_channel(index, copy) + 1, *cell, index - lines.in_begin[stage],
                 found[which].send_backward);
      }
      if (last) free_receives(stage, copy, micro_batch);
    }
    for (int which = 0; which < stage_count; ++which)
      if (graph.rank_of_stage[which] == rank) {
        found[which].activation = activations[pool_of[which]].made;
        found[which].weight_context = contexts[pool_of[which]].made;
        count_local_edges(which, found[which]);
      }
    if (training()) finish(rank);
    written = static_cast<int>(next - begin);
    return true;
  }

  /// Whether a message that an action needs has been posted; asks for one slot more when not.
  constexpr bool arrives(int channel, int micro_batch) {
    if (order_size[channel] == 0 || slot_of[channel * micro_batches + micro_batch] > 0) return true;
    if (extra[channel] >= micro_batches) return true;  // the table lacks the sender's action: play says so
    ++extra[channel];
    return false;
  }

  constexpr void send(op what, int channel, action const& like, int group, int& slots) {
    if (order_size[channel] == 0) return;
    int const made = options.send_slots < order_size[channel] ? options.send_slots : order_size[channel];
    if (made > slots) slots = made;
    put(what, lane::communication, like, group, sent[channel] % made);
    ++sent[channel];
  }

  constexpr void free_receives(int stage, int copy, int micro_batch) {
    for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index) {
      int const channel = in_channel(index, copy);
      int const slot = order_size[channel] > 0 ? slot_of[channel * micro_batches + micro_batch] : 0;
      if (slot > 0) receive(channel, stage, copy, index - lines.in_begin[stage], slot - 1);
    }
    for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge) {
      int const channel = out_channel(edge, copy) + 1;
      int const slot = order_size[channel] > 0 ? slot_of[channel * micro_batches + micro_batch] : 0;
      if (slot > 0) receive(channel, stage, copy, edge - lines.out_begin[stage], slot - 1);
    }
  }

  /// Edges inside a rank need no messages, but the same buffers: the engine takes the lowest free one at the producer's
  /// action and frees it where a received one would be.
  constexpr void count_local_edges(int which, slot_counts& found) const {
    int const copy = which / table.stages();
    int const stage = which % table.stages();
    in_flight const& flight = counts[which];
    int const edges = table.graph.edge_count;
    int const forward = cap((flight.peak > 0 ? flight.peak : 1) + options.receive_ahead);
    int const backward = cap(2 + flight.peak_contexts);
    for (int index = lines.in_begin[stage]; index < lines.in_begin[stage + 1]; ++index)
      if (!lines.crosses[copy * edges + lines.in_edges[index]] && forward > found.receive_forward)
        found.receive_forward = forward;
    for (int edge = lines.out_begin[stage]; edge < lines.out_begin[stage + 1]; ++edge)
      if (has_backward(stage) && !lines.crosses[copy * edges + edge] && backward > found.receive_backward)
        found.receive_backward = backward;
  }

  [[nodiscard]] constexpr int cap(int wanted) const { return wanted < micro_batches ? wanted : micro_batches; }

  constexpr void finish(int rank) {
    action cell;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1 && options.optimizer) {
        cell.stage = 0;
        put(op::norm, lane::compute, cell, 0, 0);
      }
      for (int which = 0; which < stage_count; ++which) {
        int const stage = which % table.stages();
        if (table.graph.rank_of_stage[which] != rank || !has_backward(stage)) continue;
        cell.stage = static_cast<std::uint16_t>(stage);
        cell.copy = static_cast<std::uint8_t>(which / table.stages());
        if (pass == 0 && is_tied(stage)) put(op::reduce_gradient, lane::communication, cell, 0, 0);
        if (pass == 1 && options.optimizer) put(op::step, lane::compute, cell, 0, 0);
      }
    }
  }

 public:
  program_view table;
  lower_options options;
  channels lines;
  int stage_count;
  int micro_batches;
  buffer<in_flight> counts;
  buffer<int> order;       ///< [channel][k]: the micro-batch of the k-th message
  buffer<int> order_size;  ///< [channel]; 0 where the edge does not cross ranks
  buffer<int> extra;       ///< [channel]: receive slots found to be needed beyond the rule
  buffer<int> posted;      ///< [channel]: receives posted so far
  buffer<int> slot_of;     ///< [channel][micro-batch]: receive slot + 1; 0 before the post
  buffer<int> sent;        ///< [channel]
  action* next = nullptr;
  int written = 0;
};

}  // namespace detail

/// Turns a table into a program the engine can play: posts, slots, and the end of a step. Of the table only F, B, I and
/// W count; what else it holds is written anew. Does not check the table and does not play the result; `lower` does.
constexpr program lower_once(program_view const& table, lower_options const& options = {}) {
  detail::lowering work(table, options);
  for (;;) {
    program result(table.name, topology::stage_graph::copy_of(table.graph), table.micro_batches, table.work,
                   work.action_count());
    if (work.write(result)) return result;
  }
}

/// The sizes of a policy's lowered program, without lowering it.
template <class Policy>
constexpr table_size lowered_size(int ranks, int micro_batches, lower_options const& options = {}) {
  program const made = write_table<Policy>(ranks, micro_batches);
  program_view const view = made.view();
  return table_size{ranks, view.stages(), view.graph.copies, view.graph.edge_count,
                    detail::lowering(view, options).action_count()};
}

/// `lower_once` with as many send slots as it takes to play under rendezvous. `proof`, where given, receives the
/// verdict of that play; a program that no number of slots can save comes back with its verdict too.
constexpr program lower(program_view const& table, lower_options options = {}, verdict* proof = nullptr) {
  for (;; ++options.send_slots) {
    program result = lower_once(table, options);
    verdict const found = play(result.view(), send_model::rendezvous);
    bool const hopeless = found.what != defect::deadlock || options.send_slots >= table.micro_batches ||
                          play(result.view(), send_model::buffered).what == defect::deadlock;
    if (hopeless) {
      if (proof != nullptr) *proof = found;
      return result;
    }
  }
}

}  // namespace weft::inline v1::schedule
