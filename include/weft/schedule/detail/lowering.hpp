// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/local_edges.hpp>
#include <weft/schedule/detail/receive_room.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/schedule/program.hpp>

namespace weft::inline v1::schedule::detail {

/// Writes the lowered rows once, with a given number of send slots. The order of everything:
///
///     row start       receives of every stage, as many as there are slots
///     R               under recompute, before B or I
///     F / B / I / W   the table's own order
///     SEND_F / SEND_B right after F / after B or I
///     RECV_F, RECV_B  right after the action that frees their slot
///     REDUCE_GRAD     over copies of the model and the data axis: begins right after the stage's last backward, ends
///                     before NORM
///     row end         REDUCE_GRAD of tied parameters, NORM, STEP (asynchronous tables: STEP where they have it)
///
/// Receives of a channel are posted in the order in which the other rank sends, never in the order of use.
/// Longer than most headers: which slots exist, who takes them and when receives are posted depend on each other, and a
/// row is written in one loop since it runs in the compiler.
class lowering {
 public:
  constexpr lowering(program_view const& view, lower_options const& chosen)
      : table(view),
        options(chosen),
        lines(view),
        stage_count(view.graph.stages * view.graph.copies),
        micro_batches(view.micro_batches),
        counts(stage_count),
        order(lines.count() * micro_batches),
        order_size(lines.count()),
        extra(lines.count()) {
    survey();
    if (stage_count > table.ranks()) make_room();
  }

  /// False when a receive could not be posted before its use for want of a slot; `extra` is then one larger.
  constexpr bool write(program& out) {
    buffer<slot_counts> found(stage_count);
    posted = buffer<int>(lines.count());
    slot_of = buffer<int>(lines.count() * micro_batches);
    sent = buffer<int>(lines.count());
    kept_slot = buffer<int>(stage_count * micro_batches);
    kept_stack = buffer<int>(stage_count * micro_batches);
    context_slot = buffer<int>(stage_count * micro_batches);
    context_stack = buffer<int>(stage_count * micro_batches);
    free_kept = buffer<int>(stage_count);
    free_contexts = buffer<int>(stage_count);
    reduced = buffer<int>(stage_count);
    for (int rank = 0; rank < table.ranks(); ++rank) {
      if (!write_row(rank, found.data(), out.cursor())) return false;
      out.advance(written);
      out.end_row();
    }
    if (lines.has_local) {
      local_edges const local(table, lines);
      for (int which = 0; which < stage_count; ++which) local.count(which, found[which], options.receive_ahead);
    }
    out.set_recomputes(options.recompute);
    out.set_reduces_over_data(training() && options.reduce_over_data);
    out.set_reduces_ties(ties());
    out.set_post_validated(false);  // a table's own end of a step is written anew
    out.set_reduces_over_copies(training() && options.reduce_over_copies && table.graph.copies > 1);
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
      if (training() && has_backward(stage % table.stages()))
        total +=
            options.optimizer + options.reduce_over_data + options.reduce_over_copies + is_tied(stage % table.stages());
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

  [[nodiscard]] constexpr bool training() const { return table.work.backward; }
  [[nodiscard]] constexpr bool has_backward(int stage) const {
    return table.work.backward && stage >= table.work.frozen_prefix_stages;
  }
  /// An asynchronous table has its STEPs where it wants them.
  [[nodiscard]] constexpr bool ends_with_step() const { return options.optimizer && !table.work.asynchronous; }
  [[nodiscard]] constexpr bool ties() const {
    return training() && options.tied == tied_stages::first_and_last && !table.work.asynchronous;
  }
  [[nodiscard]] constexpr bool is_tied(int stage) const {
    return ties() && (stage == 0 || stage == table.stages() - 1);
  }
  [[nodiscard]] constexpr int backwards(int stage) const { return counts[stage].backwards; }

  /// One pass over the table: micro-batches in flight per stage, and the order of messages per channel.
  constexpr void survey() {
    int const stages = table.graph.stages;
    int const degree = lines.degree;
    int const count = micro_batches;
    int const first_trained = table.work.backward ? table.work.frozen_prefix_stages : stages;
    int const* const channel_of = lines.of_post.data();
    in_flight* const flights = counts.data();
    int* const messages = order.data();
    int* const sizes = order_size.data();
    for (int rank = 0; rank < table.ranks(); ++rank) {
      row_view const row = table.row(rank);
      action const* const actions = row.actions;
      int const size = row.size;
      for (int index = 0; index < size; ++index) {
        action const cell = actions[index];
        op const what = cell.what;
        if (what != op::forward && what != op::backward && what != op::backward_input && what != op::backward_weight)
          continue;
        int const which = cell.copy * stages + cell.stage;
        in_flight& flight = flights[which];
        if (what == op::forward) {
          if (cell.stage >= first_trained && ++flight.activations > flight.peak) flight.peak = flight.activations;
        } else {
          if (what != op::backward_weight) ++flight.backwards;
          if (what == op::backward_input && ++flight.contexts > flight.peak_contexts)
            flight.peak_contexts = flight.contexts;
          if (what == op::backward_weight) --flight.contexts;
          if (what != op::backward_input) --flight.activations;
          if (what == op::backward_weight) continue;
        }
        int const kind = what == op::forward ? 0 : 2;
        for (int group = 0; group < degree; ++group) {
          int const channel = channel_of[(which * 4 + kind) * degree + group] - 1;
          if (channel >= 0) messages[channel * count + sizes[channel]++] = static_cast<int>(cell.micro_batch);
        }
      }
    }
  }

  /// Ranks with several stages: room for the messages that come while another stage runs.
  constexpr void make_room() {
    receive_room const room(table, lines);
    for (int which = 0; which < stage_count; ++which)
      for (int kind = 1; kind < 4; kind += 2)
        for (int group = 0; group < lines.degree; ++group) {
          int const channel = lines.posts(which, kind)[group] - 1;
          if (channel < 0) continue;
          int const missing = room.of(channel) - receive_slots(channel, counts[which]);
          if (missing > 0) extra[channel] = missing;
        }
  }

  [[nodiscard]] constexpr int receive_slots(int channel, in_flight const& flight) const {
    int const wanted =
        (channel % 2 == 0 ? (flight.peak > 0 ? flight.peak : 1) + options.receive_ahead : 2 + flight.peak_contexts) +
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

  constexpr void first_receives(int rank, slot_counts* found) {
    auto const& graph = table.graph;
    for (int which = 0; which < stage_count; ++which) {
      if (graph.rank_of_stage[which] != rank) continue;
      for (int kind = 1; kind < 4; kind += 2)
        for (int group = 0; group < lines.degree; ++group) {
          int const channel = lines.posts(which, kind)[group] - 1;
          if (channel < 0) continue;
          int const slots = receive_slots(channel, counts[which]);
          int& most = kind == 1 ? found[which].receive_forward : found[which].receive_backward;
          if (slots > most) most = slots;
          for (int slot = 0; slot < slots; ++slot)
            receive(channel, which % graph.stages, which / graph.stages, group, slot);
        }
    }
  }

  /// One rank's row, in one place and on plain pointers: in the compiler calls and member accesses cost microseconds.
  /// Slots of one kind on one stage are a stack, so that the last one freed is the first one taken.
  constexpr bool write_row(int rank, slot_counts* found, action* begin) {
    next = begin;
    first_receives(rank, found);

    int const stages = table.graph.stages;
    int const degree = lines.degree;
    int const count = micro_batches;
    int const most_sends = options.send_slots;
    bool const recomputes = options.recompute;
    int const first_trained = table.work.backward ? table.work.frozen_prefix_stages : stages;
    int const* const channel_of = lines.of_post.data();
    int const* const messages = order.data();
    int const* const sizes = order_size.data();
    int* const sends = sent.data();
    int* const receives = posted.data();
    int* const receive_slot = slot_of.data();
    int* const kept_of = kept_slot.data();
    int* const kept_free = kept_stack.data();
    int* const context_of = context_slot.data();
    int* const context_free = context_stack.data();
    int* const weights_done = reduced.data();
    bool const asynchronous = table.work.asynchronous;
    bool const over_data = training() && options.reduce_over_data;
    bool const over_copies = training() && options.reduce_over_copies && table.graph.copies > 1;

    row_view const row = table.row(rank);
    action const* const actions = row.actions;
    int const size = row.size;
    action* out = next;
    for (int index = 0; index < size; ++index) {
      action const cell = actions[index];
      op const what = cell.what;
      if (what == op::step && asynchronous) *out++ = cell;
      if (what != op::forward && what != op::backward && what != op::backward_input && what != op::backward_weight)
        continue;
      int const which = cell.copy * stages + cell.stage;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      int const item = which * count + micro_batch;
      slot_counts& slots = found[which];
      bool const keeps = cell.stage >= first_trained;
      bool const is_forward = what == op::forward;
      bool const is_last =
          is_forward ? !keeps : what != op::backward_input;  // nothing of this micro-batch is read later

      if (what != op::backward_weight) {
        int const kind = is_forward ? 1 : 3;
        for (int group = 0; group < degree; ++group) {
          int const channel = channel_of[(which * 4 + kind) * degree + group] - 1;
          if (channel >= 0 && receive_slot[channel * count + micro_batch] == 0 && wants_more(channel)) return false;
        }
      }
      // F, or R in its place, takes the slot that backward will read.
      int slot = kept_of[item];
      if (is_forward || (recomputes && what != op::backward_weight)) {
        slot = free_kept[which] > 0 ? kept_free[which * count + --free_kept[which]] : slots.activation++;
        kept_of[item] = slot;
        if (!is_forward) {
          *out = cell;
          out->what = op::recompute;
          out->part = parts::whole;
          out->slot = static_cast<std::uint16_t>(slot);
          ++out;
        }
        if (is_forward && (recomputes || !keeps)) kept_free[which * count + free_kept[which]++] = slot;
      }
      if (is_last && !is_forward) kept_free[which * count + free_kept[which]++] = slot;
      if (what == op::backward_input) {
        slot = free_contexts[which] > 0 ? context_free[which * count + --free_contexts[which]] : slots.weight_context++;
        context_of[item] = slot;
      } else if (what == op::backward_weight) {
        slot = context_of[item];
        context_free[which * count + free_contexts[which]++] = slot;
      }
      *out = cell;
      out->slot = static_cast<std::uint16_t>(slot);
      ++out;

      if (what != op::backward_weight) {
        int const kind = is_forward ? 0 : 2;
        for (int group = 0; group < degree; ++group) {
          int const channel = channel_of[(which * 4 + kind) * degree + group] - 1;
          if (channel < 0) continue;
          int const made = most_sends < sizes[channel] ? most_sends : sizes[channel];
          int& most = is_forward ? slots.send_forward : slots.send_backward;
          if (made > most) most = made;
          *out = cell;
          out->what = is_forward ? op::send_forward : op::send_backward;
          out->part = parts::whole;
          out->version = 0;
          out->where = lane::communication;
          out->group = static_cast<std::uint8_t>(group);
          out->slot = static_cast<std::uint16_t>(sends[channel]++ % made);
          ++out;
        }
      }
      if (!is_last) continue;
      for (int kind = 1; kind < 4; kind += 2)
        for (int group = 0; group < degree; ++group) {
          int const channel = channel_of[(which * 4 + kind) * degree + group] - 1;
          if (channel < 0) continue;
          int const freed = receive_slot[channel * count + micro_batch];
          int const position = receives[channel];
          if (freed == 0 || position == sizes[channel]) continue;
          receives[channel] = position + 1;
          int const coming = messages[channel * count + position];
          receive_slot[channel * count + coming] = freed;
          *out = cell;
          out->what = kind == 1 ? op::receive_forward : op::receive_backward;
          out->part = parts::whole;
          out->version = 0;
          out->where = lane::communication;
          out->micro_batch = static_cast<std::uint32_t>(coming);
          out->group = static_cast<std::uint8_t>(group);
          out->slot = static_cast<std::uint16_t>(freed - 1);
          ++out;
        }
      if (!(over_data || over_copies) || is_forward || ++weights_done[which] != counts[which].backwards) continue;
      for (reduction const over : {reduction::copies, reduction::data}) {
        if (!(over == reduction::data ? over_data : over_copies)) continue;
        *out = action{};
        out->what = op::reduce_gradient;
        out->where = lane::communication;
        out->stage = cell.stage;
        out->copy = cell.copy;
        out->group = static_cast<std::uint8_t>(over);
        ++out;
      }
    }
    next = out;
    if (training()) finish(rank);
    written = static_cast<int>(next - begin);
    return true;
  }

  /// Where a message that an action needs has not been posted: asks for one slot more, if that can help.
  constexpr bool wants_more(int channel) {
    if (extra[channel] >= micro_batches) return false;  // the table lacks the sender's action: play says so
    ++extra[channel];
    return true;
  }

  constexpr void finish(int rank) {
    action cell;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1 && ends_with_step()) {
        cell.stage = 0;
        put(op::norm, lane::compute, cell, 0, 0);
      }
      for (int which = 0; which < stage_count; ++which) {
        int const stage = which % table.stages();
        if (table.graph.rank_of_stage[which] != rank || !has_backward(stage)) continue;
        cell.stage = static_cast<std::uint16_t>(stage);
        cell.copy = static_cast<std::uint8_t>(which / table.stages());
        if (pass == 0 && is_tied(stage)) put(op::reduce_gradient, lane::communication, cell, 0, 0);
        if (pass == 1 && ends_with_step()) put(op::step, lane::compute, cell, 0, 0);
      }
    }
  }

 public:
  program_view table;
  lower_options options;
  channels<> lines;
  int stage_count;
  int micro_batches;
  buffer<in_flight> counts;
  buffer<int> order;       ///< [channel][k]: the micro-batch of the k-th message
  buffer<int> order_size;  ///< [channel]; 0 where the edge does not cross ranks
  buffer<int> extra;       ///< [channel]: receive slots found to be needed beyond the rule
  buffer<int> posted;      ///< [channel]: receives posted so far
  buffer<int> slot_of;     ///< [channel][micro-batch]: receive slot + 1; 0 before the post
  buffer<int> sent;        ///< [channel]
  buffer<int> kept_slot;   ///< [stage][micro-batch]: activation slot
  buffer<int> kept_stack;  ///< [stage]: slots that are free, and how many
  buffer<int> free_kept;
  buffer<int> context_slot;  ///< the same for weight contexts
  buffer<int> context_stack;
  buffer<int> free_contexts;
  buffer<int> reduced;  ///< [stage]: micro-batches whose weight gradients are added
  action* next = nullptr;
  int written = 0;
};

}  // namespace weft::inline v1::schedule::detail
