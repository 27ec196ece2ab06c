// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/check_complete.hpp>
#include <weft/schedule/detail/check_slots.hpp>
#include <weft/schedule/detail/check_updates.hpp>
#include <weft/schedule/detail/check_validation.hpp>
#include <weft/schedule/detail/check_versions.hpp>
#include <weft/schedule/detail/scan_report.hpp>
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
      : report{view, {}},
        program(view),
        lines(view),
        stages(view.graph.stages),
        micro_batches(view.micro_batches),
        updates(view),
        done(stages * view.graph.copies * micro_batches),
        sent(lines.count() * micro_batches),
        received(lines.count() * micro_batches),
        blocker(lines.count() * micro_batches) {
    report.found.model = sends;
    if (view.work.asynchronous) versions = version_check(view);
  }

  constexpr void run(rank_figures* ranks) {
    survey();
    last_added = typename Store::template array<int, Store::stages>(stages * program.graph.copies);
    for (int& last : last_added) last = -1;
    has_slots = program.is_lowered;
    if (has_slots) slots.prepare(program, lines);
    if (has_posts) prepare_posts();
    verdict& found = report.found;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      figures = rank_figures{};
      found.actions += program.row(rank).size;
      scan_row(rank);
      raise(found.peak_activations, figures.peak_activations);
      raise(found.peak_in_flight, figures.peak_in_flight);
      raise(found.peak_weight_contexts, figures.peak_weight_contexts);
      raise(found.peak_versions, figures.peak_versions);
      if (ranks != nullptr) ranks[rank] = figures;
    }
    check_complete(*this);
    if (program.work.backward) updates.end(report);
    if (has_posts) check_messages(*this);
    if (has_posts && program.work.post_validated && report.found.playable()) check_validation(*this);
    versions = version_check();  // a constant may not own memory
  }

  defect_report report;
  program_view program;
  channels<Store> lines;
  int stages;
  int micro_batches;
  bool has_posts = false;
  update_check<Store> updates;
  version_check versions;  ///< of asynchronous programs
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
      report.at(defect::out_of_range, rank, cell, -1, cell->stage, stages);
    else if (cell->copy >= graph.copies)
      report.at(defect::out_of_range, rank, cell, -1, cell->copy, graph.copies);
    else if (!is_in_range(*cell))
      report.at(defect::out_of_range, rank, cell, -1, static_cast<int>(cell->micro_batch), micro_batches);
    else
      report.at(defect::wrong_rank, rank, cell, graph.rank_of(cell->stage, cell->copy));
  }

  static constexpr void raise(int& most, int value) {
    if (value > most) most = value;
  }

  constexpr void prepare_posts() {
    count_sent = typename Store::template array<int, Store::channels>(lines.count());
    count_received = typename Store::template array<int, Store::channels>(lines.count());
    for (int edge = 0; edge < program.graph.edge_count * program.graph.copies; ++edge)
      if (lines.crosses[edge]) report.found.largest_tag = 2 * edge + (program.work.backward ? 1 : 0);
    if (report.found.largest_tag > tags::largest_edge)
      report.at(defect::tag_out_of_range, 0, nullptr, -1, report.found.largest_tag, tags::largest_edge);
  }

  /// One rank's row. Long, and all in one place: calls and member accesses cost the compiler microseconds each, and
  /// this loop sees every action of every rank.
  constexpr void scan_row(int rank) {
    row_view const row = program.row(rank);
    action const* const actions = row.actions;
    int const size = row.size;
    int const count = micro_batches;
    int const degree = lines.degree;
    int const limit = slots.most;
    int const kept_limit = slots.most_kept;
    int const stage_count = stages;
    int const copies = program.graph.copies;
    int const* const rank_of_stage = program.graph.rank_of_stage;
    bool const slotted = has_slots;
    bool const local = lines.has_local;
    bool const trains = program.work.backward;
    int const first_trained = program.work.frozen_prefix_stages;
    int const* const channel_of = lines.of_post.data();
    unsigned char* const state_of = done.data();
    int* const sent_as = sent.data();
    int* const received_as = received.data();
    int* const sends = count_sent.data();
    int* const receives = count_received.data();

    int const* const send_slots = slots.send_limit.data();
    int const* const receive_slots = slots.receive_limit.data();
    int* const forward_index = slots.forward_at.data();
    int* const input_index = slots.input_at.data();
    int* const sent_index = slots.sent_at.data();
    int* const blocked_by = blocker.data();
    int* const send_user = slots.send_owner.data();
    int* const receive_user = slots.receive_owner.data();
    int* const slot_of_receive = slots.receive_slot.data();
    int const* const ended = updates.ended_at.data();
    bool const asynchronous = program.work.asynchronous;
    int* const last_of = last_added.data();
    int const* const kept_slots = slots.kept_count.data();
    int* const kept_user = slots.kept_owner.data();
    int* const slot_of_kept = slots.kept_slot.data();
    rank_figures most_of;
    int half = parts::whole;  // of the compute action before: the first half of a fused pair needs its second
    int kept = 0;             // activations alive
    int flying = 0;           // micro-batches between F and their last backward
    int context_count = 0;

    for (int index = 0; index < size; ++index) {
      action const cell = actions[index];
      op const what = cell.what;
      int const which = cell.copy * stage_count + cell.stage;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      if (cell.stage >= stage_count || cell.copy >= copies || cell.micro_batch >= static_cast<unsigned>(count) ||
          rank_of_stage[which] != rank) {
        if (is_of_rank(what))
          updates.of_rank(report, rank, actions + index);
        else if (what != op::none)
          report_place(rank, actions + index);
        continue;
      }
      if (what >= op::reduce_gradient || what == op::none) {
        if (what == op::reduce_gradient || what == op::step) updates.end_of_stage(report, rank, actions + index, which);
        if (is_of_rank(what)) updates.of_rank(report, rank, actions + index);
        if (asynchronous && what == op::step) raise(most_of.peak_versions, versions.step(which));
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
          if (sent_as[message] != 0) report.at(defect::duplicate_message, rank, actions + index);
          if (!filled) report.at(defect::send_before_compute, rank, actions + index);
          sent_as[message] = ++sends[channel];
        } else {
          if (received_as[message] != 0) report.at(defect::duplicate_message, rank, actions + index);
          if (filled) report.at(defect::receive_after_use, rank, actions + index);
          received_as[message] = ++receives[channel];
        }
        if (!slotted) continue;
        int const slot = cell.slot;
        int const most = kind % 2 == 0 ? send_slots[channel] : receive_slots[channel];
        if (slot >= most) {
          report.at(defect::slot_out_of_range, rank, actions + index, -1, slot, most);
          continue;
        }
        int const place = channel * limit + slot;
        if (kind % 2 == 0) {
          // The action that filled this slot must have run after the send before it was posted.
          int const before = send_user[place];
          if (before != 0 && (kind == 0 ? forward_index[item] : input_index[item]) < sent_index[place])
            report.at(defect::slot_in_use, rank, actions + index, -1, slot, before - 1);
          blocked_by[message] = before;
          send_user[place] = micro_batch + 1;
          sent_index[place] = index;
        } else {
          int const before = receive_user[place];
          if (before != 0) report.at(defect::slot_in_use, rank, actions + index, -1, slot, before - 1);
          receive_user[place] = micro_batch + 1;
          slot_of_receive[message] = slot + 1;
        }
        continue;
      }

      if ((cell.part | half) != 0 && what != op::recompute) half = check_pair(rank, actions + index, half);
      if (asynchronous)
        raise(most_of.peak_versions, versions.see(report, rank, actions + index, which));
      else if (cell.version != 0)
        report.at(defect::wrong_version, rank, actions + index, -1, cell.version, 0);
      bool const keeps = trains && cell.stage >= first_trained;
      bool takes = false;  // a slot for what is kept
      bool gives = false;  // and frees it, with the receive slots
      if (what == op::forward) {
        if ((state & has_forward) != 0) report.at(defect::duplicate_forward, rank, actions + index);
        state_of[item] = static_cast<unsigned char>(state | has_forward);
        if (local) check_inputs(rank, actions + index, true);
        if (slotted) forward_index[item] = index;
        takes = true;
        gives = !keeps;
        if (++flying > most_of.peak_in_flight) most_of.peak_in_flight = flying;
        if (++kept > most_of.peak_activations) most_of.peak_activations = kept;
        if (!keeps) --flying;
        if (!keeps || (state & will_recompute) != 0) --kept;
      } else {
        if (!keeps || what == op::forward_backward) report.at(defect::unexpected_action, rank, actions + index);
        if (what == op::recompute) {
          if ((state & has_forward) == 0 || (state & (has_recompute | has_input)) != 0 || (state & will_recompute) == 0)
            report.at(defect::recompute_misplaced, rank, actions + index);
          state_of[item] = static_cast<unsigned char>(state | has_recompute);
          if (++kept > most_of.peak_activations) most_of.peak_activations = kept;
          takes = true;
        } else {
          if ((state & has_forward) == 0) report.at(defect::backward_before_forward, rank, actions + index);
          if (what != op::backward_weight) {
            if ((state & has_input) != 0) report.at(defect::duplicate_backward, rank, actions + index);
            // In a lowered program F keeps nothing of any micro-batch, or everything of all.
            if ((state & has_recompute) == 0 && ((state & will_recompute) != 0 || program.recomputes))
              report.at(defect::recompute_misplaced, rank, actions + index);
            if (local) check_inputs(rank, actions + index, false);
            if (slotted) input_index[item] = index;
          } else if ((state & has_weight) != 0) {
            report.at(defect::duplicate_weight, rank, actions + index);
          } else if ((state & has_input) == 0) {
            report.at(defect::weight_before_input, rank, actions + index);
          }
          unsigned const made = what == op::backward         ? has_input | has_weight
                                : what == op::backward_input ? has_input
                                                             : has_weight;
          state_of[item] = static_cast<unsigned char>(state | made);
          if (what == op::backward_input) {
            if (++context_count > most_of.peak_weight_contexts) most_of.peak_weight_contexts = context_count;
            if (slotted) slots.take_context(report, rank, actions + index, which);
          } else {
            --flying;
            --kept;
            gives = true;
            if (what == op::backward_weight) --context_count;
            if (asynchronous) ++updates.fresh[which];
            if (ended[which] != 0) report.at(defect::step_too_early, rank, actions + ended[which] - 1);
            int const last = last_of[which];
            last_of[which] = micro_batch;
            if (last >= 0 && (micro_batch < last || !order_known || report.found.order != accumulation::ascending))
              note_order(last, micro_batch);
          }
        }
      }
      if (!slotted) continue;
      if (takes) {
        if (cell.slot >= kept_slots[which]) {
          report.at(defect::slot_out_of_range, rank, actions + index, -1, cell.slot, kept_slots[which]);
          continue;
        }
        int const place = which * kept_limit + cell.slot;
        int const before = kept_user[place];
        if (before != 0) report.at(defect::slot_in_use, rank, actions + index, -1, cell.slot, before - 1);
        bool const at_once = what == op::forward && (!keeps || (state & will_recompute) != 0);
        if (!at_once) {
          kept_user[place] = micro_batch + 1;
          slot_of_kept[item] = cell.slot + 1;
        }
      } else if (gives) {
        int const slot = slot_of_kept[item];
        if (slot > 0) kept_user[which * kept_limit + slot - 1] = 0;
        if (what == op::backward_weight) slots.give_context(report, rank, actions + index, which);
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
    if (half != parts::whole) report.at(defect::torn_pair, rank, actions + size - 1);
    figures = most_of;
    if (trains) updates.end_of_row(report, rank);
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
      if (report.at(defect::input_not_ready, rank, cell, rank)) {
        report.found.owed = forward ? op::forward : op::backward;
        report.found.owed_stage = other;
        report.found.owed_micro_batch = static_cast<int>(cell->micro_batch);
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
      report.at(defect::out_of_range, rank, cell, -1, cell->group, edges);
    else
      report.at(defect::unexpected_action, rank, cell);
  }

  /// The two halves of a fused pair are neighbours, F first; returns what the next compute action must answer to.
  constexpr int check_pair(int rank, action const* cell, int half) {
    bool const first = cell->part == parts::fused_forward;
    bool const second = cell->part == parts::fused_backward;
    bool const right =
        first    ? half == parts::whole && cell->what == op::forward
        : second ? half == parts::fused_forward && (cell->what == op::backward || cell->what == op::backward_input)
                 : half == parts::whole;
    if (!right) report.at(defect::torn_pair, rank, cell);
    return first ? parts::fused_forward : parts::whole;
  }

  constexpr void note_order(int last, int micro_batch) {
    accumulation const here = micro_batch > last ? accumulation::ascending : accumulation::descending;
    if (order_known && here != report.found.order) report.found.order = accumulation::mixed;
    if (!order_known) report.found.order = here;
    order_known = true;
  }

  rank_figures figures;
  bool order_known = false;
  bool has_slots = false;
  slot_state<Store> slots;
  typename Store::template array<int, Store::stages> last_added;
  typename Store::template array<int, Store::channels> count_sent;
  typename Store::template array<int, Store::channels> count_received;
};

}  // namespace weft::inline v1::schedule::detail
