// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/scan_report.hpp>
#include <weft/schedule/detail/store.hpp>

namespace weft::inline v1::schedule::detail {

/// Who uses which slot of a lowered program while its rows are read. `scanner` writes most of it in its own loop.
template <class Store>
struct slot_state {
  constexpr void prepare(program_view const& view, channels<Store> const& lines) {
    program = view;
    int const all_stages = view.stages() * view.graph.copies;
    int const count = view.micro_batches;
    for (int which = 0; which < all_stages; ++which) {
      slot_counts const& own = view.slots[which];
      raise(most, own.receive_forward);
      raise(most, own.receive_backward);
      raise(most, own.send_forward);
      raise(most, own.send_backward);
      raise(most_kept, own.activation);
      raise(most_kept, own.weight_context);
    }
    receive_owner = typename Store::template array<int, Store::message_slots>(lines.count() * most);
    send_owner = typename Store::template array<int, Store::message_slots>(lines.count() * most);
    sent_at = typename Store::template array<int, Store::message_slots>(lines.count() * most);
    receive_slot = typename Store::template array<int, Store::messages>(lines.count() * count);
    send_limit = typename Store::template array<int, Store::channels>(lines.count());
    receive_limit = typename Store::template array<int, Store::channels>(lines.count());
    kept_count = typename Store::template array<int, Store::stages>(all_stages);
    for (int which = 0; which < all_stages; ++which) {
      slot_counts const& own = view.slots[which];
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
    kept_slot = typename Store::template array<int, Store::items>(all_stages * count);
    context_slot = typename Store::template array<int, Store::items>(all_stages * count);
    forward_at = typename Store::template array<int, Store::items>(all_stages * count);
    input_at = typename Store::template array<int, Store::items>(all_stages * count);
  }

  /// I keeps something for its W.
  constexpr void take_context(defect_report& report, int rank, action const* cell, int which) {
    int const limit = program.slots[which].weight_context;
    if (cell->slot >= limit) {
      report.at(defect::slot_out_of_range, rank, cell, -1, cell->slot, limit);
      return;
    }
    int const place = which * most_kept + cell->slot;
    if (context_owner[place] != 0) report.at(defect::slot_in_use, rank, cell, -1, cell->slot, context_owner[place] - 1);
    context_owner[place] = static_cast<int>(cell->micro_batch) + 1;
    context_slot[which * program.micro_batches + static_cast<int>(cell->micro_batch)] = cell->slot + 1;
  }

  constexpr void give_context(defect_report& report, int rank, action const* cell, int which) {
    int const slot = context_slot[which * program.micro_batches + static_cast<int>(cell->micro_batch)];
    if (slot == 0) return;  // I found no slot
    context_owner[which * most_kept + slot - 1] = 0;
    if (cell->slot != slot - 1) report.at(defect::wrong_slot, rank, cell, -1, cell->slot, slot - 1);
  }

  static constexpr void raise(int& highest, int value) {
    if (value > highest) highest = value;
  }

  program_view program;
  int most = 0;       ///< message slots of one kind on one stage
  int most_kept = 0;  ///< activation or weight-context slots on one stage
  typename Store::template array<int, Store::messages> receive_slot;
  typename Store::template array<int, Store::channels> send_limit;  ///< [channel]: slots
  typename Store::template array<int, Store::channels> receive_limit;
  typename Store::template array<int, Store::stages> kept_count;            ///< per stage: activation slots
  typename Store::template array<int, Store::message_slots> receive_owner;  ///< [channel][slot]: 1 + micro-batch, or 0
  typename Store::template array<int, Store::message_slots> send_owner;
  typename Store::template array<int, Store::message_slots> sent_at;  ///< where the send that used it last was posted
  typename Store::template array<int, Store::items> forward_at;       ///< position of F
  typename Store::template array<int, Store::items> input_at;         ///< position of B or I
  typename Store::template array<int, Store::kept_slots> kept_owner;  ///< [stage][slot]: 1 + micro-batch, or 0
  typename Store::template array<int, Store::kept_slots> context_owner;
  typename Store::template array<int, Store::items> kept_slot;  ///< 1 + slot, or 0
  typename Store::template array<int, Store::items> context_slot;
};

}  // namespace weft::inline v1::schedule::detail
