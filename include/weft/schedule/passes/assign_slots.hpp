// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/local_edges.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule {

namespace detail {

/// Slots that are free, last freed first, for many users at once. `most` rises where none is free.
class slot_stacks {
 public:
  constexpr slot_stacks(int users, int depth) : depth_(depth), free_(users * depth), count_(users), made_(users) {}

  constexpr int take(int user) { return count_[user] > 0 ? free_[user * depth_ + --count_[user]] : made_[user]++; }
  constexpr void give(int user, int slot) {
    if (count_[user] < depth_) free_[user * depth_ + count_[user]++] = slot;
  }
  [[nodiscard]] constexpr int made(int user) const { return made_[user]; }

 private:
  int depth_;
  buffer<int> free_;
  buffer<int> count_;
  buffer<int> made_;
};

/// One pass over each row; see `passes::assign_slots`.
class slot_assignment {
 public:
  constexpr slot_assignment(program_view const& view, int wanted_send_slots)
      : from(view),
        lines(view),
        count(view.micro_batches),
        send_slots(wanted_send_slots),
        kept(view.stages() * view.graph.copies, count),
        contexts(view.stages() * view.graph.copies, count),
        receives(lines.count(), count),
        kept_of(view.stages() * view.graph.copies * count),
        context_of(kept_of.size()),
        receive_of(lines.count() * count),
        send_of(lines.count() * count),
        sends(lines.count()),
        send_rings(lines.count()),
        waiting(lines.count() * count) {}

  constexpr void row(int rank, program& into) {
    for (action cell : from.row(rank)) {
      if (is_post(cell))
        post(cell);
      else if (traits_of(cell.what).is_compute)
        compute(cell);
      into.append(cell);
    }
    into.end_row();
  }

  /// After the last row.
  [[nodiscard]] constexpr buffer<slot_counts> counts() {
    local_edges const local(from, lines);
    buffer<slot_counts> result(from.stages() * from.graph.copies);
    for (int which = 0; which < result.size(); ++which) {
      slot_counts& own = result[which];
      own.activation = kept.made(which);
      own.weight_context = contexts.made(which);
      for (int edge = 0; edge < lines.degree; ++edge) {
        raise(own.send_forward, lines.posts(which, 0)[edge], send_rings);
        raise(own.send_backward, lines.posts(which, 2)[edge], send_rings);
        int const forward = lines.posts(which, 1)[edge] - 1;
        int const backward = lines.posts(which, 3)[edge] - 1;
        if (forward >= 0 && receives.made(forward) > own.receive_forward) own.receive_forward = receives.made(forward);
        if (backward >= 0 && receives.made(backward) > own.receive_backward)
          own.receive_backward = receives.made(backward);
      }
      if (lines.has_local) local.count(which, own, 1);
    }
    return result;
  }

 private:
  static constexpr void raise(int& most, int channel, buffer<int> const& rings) {
    if (channel > 0 && rings[channel - 1] > most) most = rings[channel - 1];
  }

  constexpr void post(action& cell) {
    int const channel = lines.channel_of(cell);
    int const message = channel * count + static_cast<int>(cell.micro_batch);
    if (is_send(cell)) {
      if (send_of[message] == 0) produce(channel, static_cast<int>(cell.micro_batch));
      cell.slot = static_cast<std::uint16_t>(send_of[message] - 1);
      waiting[channel * count + cell.slot] = 0;
    } else {
      int const slot = receives.take(channel);
      receive_of[message] = slot + 1;
      cell.slot = static_cast<std::uint16_t>(slot);
    }
  }

  /// The slot that an action writes its output to: the next in turn whose send has been posted, or a new one.
  constexpr void produce(int channel, int micro_batch) {
    int& ring = send_rings[channel];
    if (ring < send_slots && ring < count) ++ring;
    int slot = sends[channel]++ % ring;
    for (int tried = 0; waiting[channel * count + slot] != 0; ++tried) {
      if (tried == ring) {
        slot = ring < count ? ring++ : 0;
        break;
      }
      slot = (slot + 1) % ring;
    }
    waiting[channel * count + slot] = 1;
    send_of[channel * count + micro_batch] = slot + 1;
  }

  constexpr void compute(action& cell) {
    int const which = cell.copy * from.stages() + cell.stage;
    int const micro_batch = static_cast<int>(cell.micro_batch);
    int const item = which * count + micro_batch;
    bool const keeps = from.work.backward && cell.stage >= from.work.frozen_prefix_stages;
    op const what = cell.what;
    int slot = kept_of[item] - 1;
    if (what == op::forward || what == op::recompute) {
      slot = kept.take(which);
      kept_of[item] = slot + 1;
      if (what == op::forward && (from.recomputes || !keeps)) kept.give(which, slot);
    }
    if (what == op::backward_input) {
      slot = contexts.take(which);
      context_of[item] = slot + 1;
    }
    bool const last = what == op::forward ? !keeps : what == op::backward || what == op::backward_weight;
    if (last && what != op::forward && kept_of[item] > 0) kept.give(which, kept_of[item] - 1);
    if (what == op::backward_weight) {
      slot = context_of[item] - 1;
      if (slot >= 0) contexts.give(which, slot);
    }
    cell.slot = static_cast<std::uint16_t>(slot > 0 ? slot : 0);
    for (int edge = 0; edge < lines.degree; ++edge) {
      int const out = lines.posts(which, what == op::forward ? 0 : 2)[edge] - 1;
      if (out >= 0 && (what == op::forward || what == op::backward || what == op::backward_input))
        produce(out, micro_batch);
      for (int kind = 1; last && kind < 4; kind += 2) {
        int const in = lines.posts(which, kind)[edge] - 1;
        if (in < 0 || receive_of[in * count + micro_batch] == 0) continue;
        receives.give(in, receive_of[in * count + micro_batch] - 1);
      }
    }
  }

  program_view from;
  channels<> lines;
  int count;
  int send_slots;
  slot_stacks kept;
  slot_stacks contexts;
  slot_stacks receives;
  buffer<int> kept_of;     ///< [item]: 1 + activation slot, or 0
  buffer<int> context_of;  ///< the same for weight contexts
  buffer<int> receive_of;  ///< [message]: 1 + receive slot, or 0
  buffer<int> send_of;
  buffer<int> sends;       ///< [channel]: messages produced so far
  buffer<int> send_rings;  ///< [channel]: send slots in use
  buffer<int> waiting;     ///< [channel][slot]: filled, and its send not yet posted
};

}  // namespace detail

namespace passes {

/// Gives every buffer of a program with posts a slot, by liveness: closed intervals, so that a slot which an action
/// frees is free for the next one. The program is lowered afterwards, and the engine can play it.
///
///     activations        from F (or R) to B or W; I does not release
///     weight contexts    from I to W
///     received messages  from the post to the last reader (F where nothing is kept, else B or W)
///     sent messages      from the action that makes it to the post; `send_slots` in turn, more where posts come late
constexpr program assign_slots(program_view const& from, int send_slots = 2) {
  detail::slot_assignment slots(from, send_slots > 0 ? send_slots : 1);
  program result = like(from, action_count(from));
  for (int rank = 0; rank < from.ranks(); ++rank) slots.row(rank, result);
  result.set_slots(slots.counts());
  return result;
}

}  // namespace passes

}  // namespace weft::inline v1::schedule
