// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/store.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft::inline v1::schedule::detail {

/// The part of `play` that needs no clock: each row is read once, in order. Everything found here holds under every
/// send model. Written with plain arrays and few calls, since it runs in the compiler; for the same reason one pass
/// checks all rules at once, and the header is longer than most.
template <class Store = dynamic_store>
class scanner {
 public:
  // Bits of `done`, per (copy, stage, micro-batch).
  static constexpr unsigned char has_forward = 1;
  static constexpr unsigned char has_input = 2;
  static constexpr unsigned char has_weight = 4;
  static constexpr unsigned char has_recompute = 8;
  static constexpr unsigned char will_recompute = 16;

  constexpr scanner(program_view const& view, send_model sends)
      : program(view),
        lines(view),
        stages(view.graph.stages),
        micro_batches(view.micro_batches),
        done(stages * view.graph.copies * micro_batches),
        sent(lines.count() * micro_batches),
        received(lines.count() * micro_batches),
        blocker(lines.count() * micro_batches) {
    found.model = sends;
  }

  constexpr void run(rank_figures* ranks) {
    survey();
    last_added = typename Store::template array<int, Store::stages>(stages * program.graph.copies);
    for (int& last : last_added) last = -1;
    ended_at = typename Store::template array<int, Store::stages>(stages * program.graph.copies);
    reduced = typename Store::template array<int, Store::stages>(stages * program.graph.copies);
    has_slots = program.is_lowered;
    if (has_slots) prepare_slots();
    if (has_posts) prepare_posts();
    for (int rank = 0; rank < program.ranks(); ++rank) {
      figures = rank_figures{};
      found.actions += program.row(rank).size;
      scan_row(rank);
      if (figures.peak_activations > found.peak_activations) found.peak_activations = figures.peak_activations;
      if (figures.peak_in_flight > found.peak_in_flight) found.peak_in_flight = figures.peak_in_flight;
      if (figures.peak_weight_contexts > found.peak_weight_contexts)
        found.peak_weight_contexts = figures.peak_weight_contexts;
      if (ranks != nullptr) ranks[rank] = figures;
    }
    check_complete();
    check_norms();
    if (has_posts) check_messages();
  }

  [[nodiscard]] constexpr bool has_backward(int stage) const {
    return program.work.backward && stage >= program.work.frozen_prefix_stages;
  }

  program_view program;
  channels<Store> lines;
  int stages;
  int micro_batches;
  bool has_posts = false;
  verdict found;
  typename Store::template array<unsigned char, Store::items> done;
  typename Store::template array<int, Store::messages>
      sent;  ///< [channel][micro-batch]: ordinal of the send on its channel, from 1
  typename Store::template array<int, Store::messages> received;  ///< the same of the receive
  typename Store::template array<int, Store::messages>
      blocker;  ///< [channel][micro-batch]: 1 + micro-batch whose send last used this one's slot, or 0

 private:
  /// Which kinds of action there are. A lowered program says so itself, and its rows are then read but once.
  constexpr void survey() {
    bool recomputes = program.recomputes;
    if (program.is_lowered) {
      for (int const channel : lines.of_post)
        if (channel != 0) has_posts = true;
    } else {
      for (int rank = 0; rank < program.ranks(); ++rank)
        for (action const& cell : program.row(rank)) {
          if (cell.what >= op::send_forward && cell.what <= op::receive_backward) has_posts = true;
          if (cell.what == op::recompute) recomputes = true;
        }
    }
    if (!recomputes) return;
    for (int rank = 0; rank < program.ranks(); ++rank)
      for (action const& cell : program.row(rank))
        if (cell.what == op::recompute && is_in_range(cell))
          done[(cell.copy * stages + cell.stage) * micro_batches + static_cast<int>(cell.micro_batch)] = will_recompute;
  }

  [[nodiscard]] constexpr bool is_in_range(action const& cell) const {
    return cell.stage < stages && cell.copy < program.graph.copies && static_cast<int>(cell.micro_batch) >= 0 &&
           static_cast<int>(cell.micro_batch) < micro_batches;
  }

  constexpr void report_place(int rank, action const* cell) {
    auto const& graph = program.graph;
    if (cell->stage >= stages)
      report(defect::out_of_range, rank, cell, -1, cell->stage, stages);
    else if (cell->copy >= graph.copies)
      report(defect::out_of_range, rank, cell, -1, cell->copy, graph.copies);
    else if (!is_in_range(*cell))
      report(defect::out_of_range, rank, cell, -1, static_cast<int>(cell->micro_batch), micro_batches);
    else
      report(defect::wrong_rank, rank, cell, graph.rank_of(cell->stage, cell->copy));
  }

  constexpr void prepare_slots() {
    int const all_stages = stages * program.graph.copies;
    for (int which = 0; which < all_stages; ++which) {
      slot_counts const& own = program.slots[which];
      raise(slot_limit, own.receive_forward);
      raise(slot_limit, own.receive_backward);
      raise(slot_limit, own.send_forward);
      raise(slot_limit, own.send_backward);
      raise(most_kept, own.activation);
      raise(most_kept, own.weight_context);
    }
    receive_owner = typename Store::template array<int, Store::message_slots>(lines.count() * slot_limit);
    send_owner = typename Store::template array<int, Store::message_slots>(lines.count() * slot_limit);
    sent_at = typename Store::template array<int, Store::message_slots>(lines.count() * slot_limit);
    receive_slot = typename Store::template array<int, Store::messages>(lines.count() * micro_batches);
    send_limit = typename Store::template array<int, Store::channels>(lines.count());
    receive_limit = typename Store::template array<int, Store::channels>(lines.count());
    kept_count = typename Store::template array<int, Store::stages>(all_stages);
    for (int which = 0; which < all_stages; ++which) {
      slot_counts const& own = program.slots[which];
      kept_count[which] = own.activation;
      int const counts[] = {own.send_forward, own.receive_forward, own.send_backward, own.receive_backward};
      for (int kind = 0; kind < 4; ++kind)
        for (int group = 0; group < lines.degree; ++group) {
          int const channel = lines.posts(which, kind)[group] - 1;
          if (channel >= 0) (kind % 2 == 0 ? send_limit : receive_limit)[channel] = counts[kind];
        }
    }
    kept_owner = typename Store::template array<int, Store::kept_slots>(all_stages * most_kept);
    context_owner = typename Store::template array<int, Store::kept_slots>(all_stages * most_kept);
    kept_slot = typename Store::template array<int, Store::items>(all_stages * micro_batches);
    context_slot = typename Store::template array<int, Store::items>(all_stages * micro_batches);
    forward_at = typename Store::template array<int, Store::items>(all_stages * micro_batches);
    input_at = typename Store::template array<int, Store::items>(all_stages * micro_batches);
  }

  static constexpr void raise(int& most, int value) {
    if (value > most) most = value;
  }

  constexpr void prepare_posts() {
    count_sent = typename Store::template array<int, Store::channels>(lines.count());
    count_received = typename Store::template array<int, Store::channels>(lines.count());
    for (int edge = 0; edge < program.graph.edge_count * program.graph.copies; ++edge)
      if (lines.crosses[edge]) found.largest_tag = 2 * edge + (program.work.backward ? 1 : 0);
    if (found.largest_tag > tags::largest_edge)
      report(defect::tag_out_of_range, 0, nullptr, -1, found.largest_tag, tags::largest_edge);
  }

  /// One rank's row. Long, and all in one place: calls and member accesses cost the compiler microseconds each, and
  /// this loop sees every action of every rank.
  constexpr void scan_row(int rank) {
    row_view const row = program.row(rank);
    action const* const actions = row.actions;
    int const size = row.size;
    int const count = micro_batches;
    int const degree = lines.degree;
    int const limit = slot_limit;
    int const kept_limit = most_kept;
    int const stage_count = stages;
    int const copies = program.graph.copies;
    int const* const rank_of_stage = program.graph.rank_of_stage;
    bool const slots = has_slots;
    bool const local = lines.has_local;
    bool const trains = program.work.backward;
    int const first_trained = program.work.frozen_prefix_stages;
    int const* const channel_of = lines.of_post.data();
    unsigned char* const state_of = done.data();
    int* const sent_as = sent.data();
    int* const received_as = received.data();
    int* const sends = count_sent.data();
    int* const receives = count_received.data();

    int const* const send_slots = send_limit.data();
    int const* const receive_slots = receive_limit.data();
    int* const forward_index = forward_at.data();
    int* const input_index = input_at.data();
    int* const sent_index = sent_at.data();
    int* const blocked_by = blocker.data();
    int* const send_user = send_owner.data();
    int* const receive_user = receive_owner.data();
    int* const slot_of_receive = receive_slot.data();
    int const* const ended = ended_at.data();
    int* const last_of = last_added.data();
    int const* const kept_slots = kept_count.data();
    int* const kept_user = kept_owner.data();
    int* const slot_of_kept = kept_slot.data();
    rank_figures most_of;
    int kept = 0;    // activations alive
    int flying = 0;  // micro-batches between F and their last backward
    int context_count = 0;

    for (int index = 0; index < size; ++index) {
      action const cell = actions[index];
      op const what = cell.what;
      int const which = cell.copy * stage_count + cell.stage;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      if (cell.stage >= stage_count || cell.copy >= copies || cell.micro_batch >= static_cast<unsigned>(count) ||
          rank_of_stage[which] != rank) {
        if (what == op::norm)
          note_norm(rank, actions + index);
        else if (what != op::none)
          report_place(rank, actions + index);
        continue;
      }
      if (what >= op::reduce_gradient || what == op::none) {
        if (what == op::reduce_gradient || what == op::step) check_step(rank, actions + index, which);
        if (what == op::norm) note_norm(rank, actions + index);
        continue;
      }
      int const item = which * count + micro_batch;
      unsigned const state = state_of[item];

      if (what >= op::send_forward) {
        int const kind = static_cast<int>(what) - static_cast<int>(op::send_forward);
        int const channel = cell.group < degree ? channel_of[(which * 4 + kind) * degree + cell.group] - 1 : -1;
        if (channel < 0) {
          report_no_edge(rank, actions + index);
          continue;
        }
        int const message = channel * count + micro_batch;
        bool const filled = (state & (kind < 2 ? has_forward : has_input)) != 0;
        if (kind % 2 == 0) {
          if (sent_as[message] != 0) report(defect::duplicate_message, rank, actions + index);
          if (!filled) report(defect::send_before_compute, rank, actions + index);
          sent_as[message] = ++sends[channel];
        } else {
          if (received_as[message] != 0) report(defect::duplicate_message, rank, actions + index);
          if (filled) report(defect::receive_after_use, rank, actions + index);
          received_as[message] = ++receives[channel];
        }
        if (!slots) continue;
        int const slot = cell.slot;
        int const most = kind % 2 == 0 ? send_slots[channel] : receive_slots[channel];
        if (slot >= most) {
          report(defect::slot_out_of_range, rank, actions + index, -1, slot, most);
          continue;
        }
        int const place = channel * limit + slot;
        if (kind % 2 == 0) {
          // The action that filled this slot must have run after the send before it was posted.
          int const before = send_user[place];
          if (before != 0 && (kind == 0 ? forward_index[item] : input_index[item]) < sent_index[place])
            report(defect::slot_in_use, rank, actions + index, -1, slot, before - 1);
          blocked_by[message] = before;
          send_user[place] = micro_batch + 1;
          sent_index[place] = index;
        } else {
          int const before = receive_user[place];
          if (before != 0) report(defect::slot_in_use, rank, actions + index, -1, slot, before - 1);
          receive_user[place] = micro_batch + 1;
          slot_of_receive[message] = slot + 1;
        }
        continue;
      }

      bool const keeps = trains && cell.stage >= first_trained;
      bool takes = false;  // a slot for what is kept
      bool gives = false;  // and frees it, with the receive slots
      if (what == op::forward) {
        if ((state & has_forward) != 0) report(defect::duplicate_forward, rank, actions + index);
        state_of[item] = static_cast<unsigned char>(state | has_forward);
        if (local) check_inputs(rank, actions + index, true);
        if (slots) forward_index[item] = index;
        takes = true;
        gives = !keeps;
        if (++flying > most_of.peak_in_flight) most_of.peak_in_flight = flying;
        if (++kept > most_of.peak_activations) most_of.peak_activations = kept;
        if (!keeps) --flying;
        if (!keeps || (state & will_recompute) != 0) --kept;
      } else {
        if (!keeps || what == op::forward_backward) report(defect::unexpected_action, rank, actions + index);
        if (what == op::recompute) {
          if ((state & has_forward) == 0 || (state & (has_recompute | has_input)) != 0 || (state & will_recompute) == 0)
            report(defect::recompute_misplaced, rank, actions + index);
          state_of[item] = static_cast<unsigned char>(state | has_recompute);
          if (++kept > most_of.peak_activations) most_of.peak_activations = kept;
          takes = true;
        } else {
          if ((state & has_forward) == 0) report(defect::backward_before_forward, rank, actions + index);
          if (what != op::backward_weight) {
            if ((state & has_input) != 0) report(defect::duplicate_backward, rank, actions + index);
            if ((state & (will_recompute | has_recompute)) == will_recompute)
              report(defect::recompute_misplaced, rank, actions + index);
            if (local) check_inputs(rank, actions + index, false);
            if (slots) input_index[item] = index;
          } else if ((state & has_weight) != 0) {
            report(defect::duplicate_weight, rank, actions + index);
          } else if ((state & has_input) == 0) {
            report(defect::weight_before_input, rank, actions + index);
          }
          unsigned const made = what == op::backward         ? has_input | has_weight
                                : what == op::backward_input ? has_input
                                                             : has_weight;
          state_of[item] = static_cast<unsigned char>(state | made);
          if (what == op::backward_input) {
            if (++context_count > most_of.peak_weight_contexts) most_of.peak_weight_contexts = context_count;
            if (slots) take_context(rank, actions + index, which);
          } else {
            --flying;
            --kept;
            gives = true;
            if (what == op::backward_weight) --context_count;
            if (ended[which] != 0) report(defect::step_too_early, rank, actions + ended[which] - 1);
            int const last = last_of[which];
            last_of[which] = micro_batch;
            if (last >= 0 && (micro_batch < last || !order_known || found.order != accumulation::ascending))
              note_order(last, micro_batch);
          }
        }
      }
      if (!slots) continue;
      if (takes) {
        if (cell.slot >= kept_slots[which]) {
          report(defect::slot_out_of_range, rank, actions + index, -1, cell.slot, kept_slots[which]);
          continue;
        }
        int const place = which * kept_limit + cell.slot;
        int const before = kept_user[place];
        if (before != 0) report(defect::slot_in_use, rank, actions + index, -1, cell.slot, before - 1);
        bool const at_once = what == op::forward && (!keeps || (state & will_recompute) != 0);
        if (!at_once) {
          kept_user[place] = micro_batch + 1;
          slot_of_kept[item] = cell.slot + 1;
        }
      } else if (gives) {
        int const slot = slot_of_kept[item];
        if (slot > 0) kept_user[which * kept_limit + slot - 1] = 0;
        if (what == op::backward_weight) give_context(which, micro_batch);
      }
      if (!gives) continue;
      for (int group = 0; group < degree; ++group)
        for (int kind = 1; kind < 4; kind += 2) {
          int const channel = channel_of[(which * 4 + kind) * degree + group] - 1;
          if (channel < 0) continue;
          int const slot = slot_of_receive[channel * count + micro_batch];
          if (slot > 0) receive_user[channel * limit + slot - 1] = 0;
        }
    }
    figures = most_of;
    if (trains) check_norm(rank, row);
  }

  /// A stage on the same rank must have run earlier in the row; messages are the business of `advance`.
  constexpr void check_inputs(int rank, action const* cell, bool forward) {
    int const stage = cell->stage;
    int const begin = forward ? lines.in_begin[stage] : lines.out_begin[stage];
    int const end = forward ? lines.in_begin[stage + 1] : lines.out_begin[stage + 1];
    for (int index = begin; index < end; ++index) {
      int const edge = forward ? lines.in_edges[index] : index;
      if (lines.crosses[cell->copy * program.graph.edge_count + edge]) continue;
      int const other = forward ? program.graph.edges[edge].source : program.graph.edges[edge].destination;
      int const item = (cell->copy * stages + other) * micro_batches + static_cast<int>(cell->micro_batch);
      if ((done[item] & (forward ? has_forward : has_input)) != 0) continue;
      if (report(defect::input_not_ready, rank, cell, rank)) {
        found.owed = forward ? op::forward : op::backward;
        found.owed_stage = other;
        found.owed_micro_batch = static_cast<int>(cell->micro_batch);
      }
    }
  }

  /// A post whose edge does not exist, or that crosses no rank, or that carries a gradient which nobody needs.
  constexpr void report_no_edge(int rank, action const* cell) {
    int const stage = cell->stage;
    bool const by_out_edge = cell->what == op::send_forward || cell->what == op::receive_backward;
    int const edges = by_out_edge ? lines.out_begin[stage + 1] - lines.out_begin[stage]
                                  : lines.in_begin[stage + 1] - lines.in_begin[stage];
    if (cell->group >= edges)
      report(defect::out_of_range, rank, cell, -1, cell->group, edges);
    else
      report(defect::unexpected_action, rank, cell);
  }

  constexpr void take_context(int rank, action const* cell, int which) {
    int const limit = program.slots[which].weight_context;
    if (cell->slot >= limit) {
      report(defect::slot_out_of_range, rank, cell, -1, cell->slot, limit);
      return;
    }
    int const place = which * most_kept + cell->slot;
    if (context_owner[place] != 0) report(defect::slot_in_use, rank, cell, -1, cell->slot, context_owner[place] - 1);
    context_owner[place] = static_cast<int>(cell->micro_batch) + 1;
    context_slot[which * micro_batches + static_cast<int>(cell->micro_batch)] = cell->slot + 1;
  }

  constexpr void give_context(int which, int micro_batch) {
    int const slot = context_slot[which * micro_batches + micro_batch];
    if (slot > 0) context_owner[which * most_kept + slot - 1] = 0;
  }

  constexpr void note_order(int last, int micro_batch) {
    accumulation const here = micro_batch > last ? accumulation::ascending : accumulation::descending;
    if (order_known && here != found.order) found.order = accumulation::mixed;
    if (!order_known) found.order = here;
    order_known = true;
  }

  constexpr void check_step(int rank, action const* cell, int which) {
    if (!has_backward(cell->stage)) report(defect::unexpected_action, rank, cell);
    int const position = static_cast<int>(cell - program.row(rank).begin());
    if (ended_at[which] == 0) ended_at[which] = position + 1;
    if (cell->what == op::step && step_at < 0) step_at = position;
    if (cell->what != op::reduce_gradient || cell->group != static_cast<std::uint8_t>(reduction::data)) return;
    if (!program.work.reduces_over_data) report(defect::unexpected_action, rank, cell);
    if (++reduced[which] > 1) report(defect::duplicate_reduction, rank, cell);
  }

  // NORM belongs to a rank, not to a stage: every rank takes part in it, so that one too few or too many hangs the run.

  constexpr void note_norm(int rank, action const* cell) {
    if (!program.work.backward) report(defect::unexpected_action, rank, cell);
    if (norm_at >= 0) report(defect::duplicate_norm, rank, cell);
    if (norm_at < 0) norm_at = static_cast<int>(cell - program.row(rank).begin());
  }

  /// After a rank's row: NORM adds up finished gradients, and STEP needs its result.
  constexpr void check_norm(int rank, row_view row) {
    if (norm_at >= 0 || step_at >= 0) has_optimizer = true;
    if (norm_at < 0 && without_norm < 0) without_norm = rank;
    if (norm_at >= 0 && step_at >= 0 && step_at < norm_at) report(defect::norm_after_step, rank, row.begin() + norm_at);
    for (int index = norm_at + 1; norm_at >= 0 && index < row.size; ++index) {
      op const what = row[index].what;
      if (what == op::backward || what == op::backward_input || what == op::backward_weight ||
          what == op::reduce_gradient)
        report(defect::norm_too_early, rank, row.begin() + norm_at);
    }
    norm_at = -1;
    step_at = -1;
  }

  constexpr void check_norms() {
    if (has_optimizer && without_norm >= 0 && report(defect::missing_norm, without_norm, nullptr))
      found.action = op::norm;
  }

  constexpr void check_complete() {
    auto const& graph = program.graph;
    for (int which = 0; which < stages * graph.copies; ++which) {
      int const stage = which % stages;
      bool const backward = has_backward(stage);
      if (backward && program.work.reduces_over_data && reduced[which] == 0 &&
          report(defect::missing_reduction, graph.rank_of_stage[which], nullptr)) {
        found.action = op::reduce_gradient;
        found.stage = stage;
      }
      unsigned const wanted = backward ? (has_forward | has_input | has_weight) : has_forward;
      int used = 0;
      for (int item = which * micro_batches; item < (which + 1) * micro_batches; ++item)
        if ((done[item] & wanted) == wanted) ++used;
      if (used == micro_batches || graph.copies > 1) continue;
      for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
        unsigned const state = done[which * micro_batches + micro_batch];
        if ((state & wanted) == wanted) continue;
        report_work((state & has_forward) == 0 ? defect::missing_forward
                    : (state & has_input) == 0 ? defect::missing_backward
                                               : defect::missing_weight,
                    graph.rank_of_stage[which], stage, micro_batch);
      }
    }
    if (graph.copies > 1) check_complete_copies();
  }

  /// With several copies of the model, each micro-batch is the business of exactly one of them.
  constexpr void check_complete_copies() {
    auto const& graph = program.graph;
    for (int stage = 0; stage < stages; ++stage)
      for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
        unsigned const wanted = has_backward(stage) ? (has_forward | has_input | has_weight) : has_forward;
        int complete = 0;
        unsigned any = 0;
        for (int copy = 0; copy < graph.copies; ++copy) {
          unsigned const state = done[(copy * stages + stage) * micro_batches + micro_batch];
          any |= state;
          if ((state & wanted) == wanted) ++complete;
        }
        if (complete == 1) continue;
        report_work(complete > 1               ? defect::duplicate_forward
                    : (any & has_forward) == 0 ? defect::missing_forward
                    : (any & has_input) == 0   ? defect::missing_backward
                                               : defect::missing_weight,
                    graph.rank_of(stage), stage, micro_batch);
      }
  }

  /// Every message has both ends, and both ends agree on the order.
  constexpr void check_messages() {
    auto const& graph = program.graph;
    for (int channel = 0; channel < lines.count(); ++channel) {
      if (!lines.crosses[channel / 2]) continue;
      topology::edge const line = graph.edges[channel / 2 % graph.edge_count];
      int const copy = channel / 2 / graph.edge_count;
      bool const forward = channel % 2 == 0;
      if (!forward && !has_backward(line.source)) continue;
      int const source = forward ? line.source : line.destination;
      int const destination = forward ? line.destination : line.source;
      for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
        int const message = channel * micro_batches + micro_batch;
        int const out = sent[message];
        int const in = received[message];
        if (out == in && out != 0) continue;
        int const sender = graph.rank_of(source, copy);
        int const receiver = graph.rank_of(destination, copy);
        if (out == 0 && in == 0 &&
            (graph.copies > 1 || (done[(copy * stages + source) * micro_batches + micro_batch] & has_forward) == 0))
          continue;
        if (out == 0) {
          if (report_work(defect::missing_send, sender, source, micro_batch, receiver))
            found.owed = forward ? op::send_forward : op::send_backward;
        } else if (in == 0) {
          if (report_work(defect::missing_receive, receiver, destination, micro_batch, sender))
            found.owed = forward ? op::receive_forward : op::receive_backward;
        } else if (report_work(defect::order_mismatch, receiver, destination, micro_batch, sender)) {
          found.action = forward ? op::receive_forward : op::receive_backward;
          found.value = in - 1;
          found.limit = out - 1;
          found.position = position_of(receiver, found.action, destination, micro_batch);
        }
      }
    }
  }

  [[nodiscard]] constexpr int position_of(int rank, op what, int stage, int micro_batch) const {
    row_view const row = program.row(rank);
    for (int position = 0; position < row.size; ++position)
      if (row[position].what == what && row[position].stage == stage &&
          static_cast<int>(row[position].micro_batch) == micro_batch)
        return position;
    return -1;
  }

  /// Keeps the defect of highest priority; true when this one is now it.
  constexpr bool report(defect what, int rank, action const* cell, int peer = -1, int value = 0, int limit = 0) {
    if (found.what != defect::none && found.what <= what) return false;
    found.what = what;
    found.rank = rank;
    found.peer = peer;
    found.value = value;
    found.limit = limit;
    if (cell != nullptr) {
      found.action = cell->what;
      found.position = static_cast<int>(cell - program.row(rank).begin());
      found.stage = cell->stage;
      found.micro_batch = static_cast<int>(cell->micro_batch);
    }
    return true;
  }

  constexpr bool report_work(defect what, int rank, int stage, int micro_batch, int peer = -1) {
    if (!report(what, rank, nullptr, peer)) return false;
    found.action = op::none;
    found.position = -1;
    found.stage = stage;
    found.micro_batch = micro_batch;
    return true;
  }

  rank_figures figures;
  int slot_limit = 0;
  int most_kept = 0;
  bool order_known = false;
  bool has_slots = false;
  int norm_at = -1;  ///< of the row that is read: position of its NORM
  int step_at = -1;  ///< and of its first STEP
  int without_norm = -1;
  bool has_optimizer = false;  ///< some rank has NORM or STEP
  typename Store::template array<int, Store::stages> last_added;
  typename Store::template array<int, Store::stages>
      ended_at;  ///< per stage: 1 + position of its first REDUCE_GRAD or STEP, or 0
  typename Store::template array<int, Store::stages> reduced;  ///< per stage: its REDUCE_GRADs over the data axis
  typename Store::template array<int, Store::channels> count_sent;
  typename Store::template array<int, Store::channels> count_received;
  typename Store::template array<int, Store::messages> receive_slot;
  typename Store::template array<int, Store::channels> send_limit;  ///< [channel]: slots
  typename Store::template array<int, Store::channels> receive_limit;
  typename Store::template array<int, Store::stages> kept_count;            ///< per stage: activation slots
  typename Store::template array<int, Store::message_slots> receive_owner;  ///< [channel][slot]: 1 + micro-batch, or 0
  typename Store::template array<int, Store::message_slots> send_owner;
  typename Store::template array<int, Store::message_slots> sent_at;
  typename Store::template array<int, Store::items> forward_at;
  typename Store::template array<int, Store::items> input_at;
  typename Store::template array<int, Store::kept_slots> kept_owner;
  typename Store::template array<int, Store::kept_slots> context_owner;
  typename Store::template array<int, Store::items> kept_slot;
  typename Store::template array<int, Store::items> context_slot;
};

}  // namespace weft::inline v1::schedule::detail
