// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/detail/check_updates.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule {

namespace detail {

/// Where VALIDATE can stand, by rank: as late as it may, in front of the row's first action that is neither F nor a
/// post, and earlier where an F behind it on another rank is needed by one in front of it here.
class validation_cut {
 public:
  explicit constexpr validation_cut(program_view const& program)
      : lines(program),
        at(program.ranks()),
        sent_at(lines.count() * program.micro_batches),
        micro_batches(program.micro_batches) {
    for (int rank = 0; rank < program.ranks(); ++rank) {
      row_view const row = program.row(rank);
      while (at[rank] < row.size && !may_not_precede_validation(row[at[rank]].what)) ++at[rank];
      for (int index = 0; index < row.size; ++index)
        if (is_post(row[index]) && is_send(row[index])) sent_at[message_of(row[index])] = index;
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < program.ranks(); ++rank)
        for (int index = 0; index < at[rank]; ++index) {
          if (program.row(rank)[index].what != op::forward || !needs_later(program, program.row(rank)[index])) continue;
          at[rank] = index;
          moved = true;
        }
    }
  }

  /// Whether the message of a receive is sent in front of the sender's VALIDATE.
  [[nodiscard]] constexpr bool is_sent_before(program_view const& program, action const& receive) const {
    topology::edge const line = program.graph.edges[lines.channel_of(receive) / 2 % program.graph.edge_count];
    int const sender = line.source == receive.stage ? line.destination : line.source;
    return sent_at[message_of(receive)] < at[program.graph.rank_of(sender, receive.copy)];
  }

 private:
  [[nodiscard]] constexpr int message_of(action const& post) const {
    return lines.channel_of(post) * micro_batches + static_cast<int>(post.micro_batch);
  }

  [[nodiscard]] constexpr bool needs_later(program_view const& program, action const& forward) const {
    int const which = forward.copy * program.stages() + forward.stage;
    for (int group = 0; group < lines.degree; ++group) {
      int const channel = lines.posts(which, 1)[group] - 1;
      if (channel < 0) continue;
      int const source = program.graph.edges[channel / 2 % program.graph.edge_count].source;
      if (sent_at[channel * micro_batches + static_cast<int>(forward.micro_batch)] >=
          at[program.graph.rank_of(source, forward.copy)])
        return true;
    }
    return false;
  }

  channels<> lines;

 public:
  weft::detail::buffer<int> at;  ///< [rank]: the position that VALIDATE takes

 private:
  weft::detail::buffer<int> sent_at;  ///< [message]: position of its send
  int micro_batches;
};

}  // namespace detail

namespace passes {

/// Makes a lowered training program one whose steps are validated afterwards (Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, sec. 4): no rank waits for all others before its STEPs.
///
///     RECV_B0 F0 SEND_F0 F1 SEND_F1 B0 B1 NORM STEP
///     F0 SEND_F0 F1 SEND_F1 VALIDATE RECV_B0 B0 B1 PARTIAL_NORM STEP
///
/// PARTIAL_NORM takes NORM's place: it adds this rank's part to what the rank before has passed on, and STEP takes it
/// for the whole. The last rank has the whole, and tells all others, who hear of it in their next turn's VALIDATE, at
/// the end of their warm-up. A rank that has stepped by other numbers then undoes that, steps again, and all ranks do
/// again what stands before VALIDATE. For that no receive may be posted there whose message is sent behind the
/// sender's VALIDATE; such receives move to just behind it. Slots stay right: a receive only takes its slot later.
///
/// Programs without NORM come back as they are. Cost: the first gradient's receive is posted when it is needed.
constexpr program post_validate(program_view const& from) {
  detail::validation_cut const cut(from);
  program result = like(from, action_count(from) + from.ranks());
  bool validates = false;
  for (int rank = 0; rank < from.ranks(); ++rank)
    for (action const& cell : from.row(rank)) validates = validates || cell.what == op::norm;
  for (int rank = 0; rank < from.ranks(); ++rank) {
    row_view const row = from.row(rank);
    auto const is_moved = [&](int index) {
      return validates && index < cut.at[rank] && detail::is_post(row[index]) && !detail::is_send(row[index]) &&
             !cut.is_sent_before(from, row[index]);
    };
    for (int index = 0; index <= row.size; ++index) {
      if (validates && index == cut.at[rank]) {
        result.append(make_action(op::validate, 0, 0));
        for (int early = 0; early < index; ++early)
          if (is_moved(early)) result.append(row[early]);
      }
      if (index == row.size || is_moved(index)) continue;
      action cell = row[index];
      if (cell.what == op::norm) cell.what = op::partial_norm;
      result.append(cell);
    }
    result.end_row();
  }
  result.set_post_validated(validates);
  if (from.is_lowered) {
    weft::detail::buffer<slot_counts> slots(from.stages() * from.graph.copies);
    for (int which = 0; which < slots.size(); ++which) slots[which] = from.slots[which];
    result.set_slots(static_cast<weft::detail::buffer<slot_counts>&&>(slots));
  }
  return result;
}

}  // namespace passes

}  // namespace weft::inline v1::schedule
