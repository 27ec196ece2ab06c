// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/play_state.hpp>
#include <weft/schedule/verdict.hpp>

/// @file
/// Whose fault a deadlock is.
namespace weft::inline v1::schedule::detail {

constexpr bool is_of_forward(op what) {
  return what == op::forward || what == op::send_forward || what == op::receive_forward;
}

/// Work that others can only do after it comes first: forwards before backwards, low micro-batches before high ones,
/// and then the stage nearest to where the pass begins. Collectives end a step and come last.
constexpr bool is_earlier(wait const& left, wait const& right) {
  bool const left_ends = left.what >= op::reduce_gradient;
  bool const right_ends = right.what >= op::reduce_gradient;
  if (left_ends != right_ends) return right_ends;
  bool const forward = is_of_forward(left.what);
  if (forward != is_of_forward(right.what)) return forward;
  if (left.micro_batch != right.micro_batch) return left.micro_batch < right.micro_batch;
  return forward ? left.stage < right.stage : left.stage > right.stage;
}

template <class Store>
constexpr int next_in_chain(play_state<Store> const& state, int rank) {
  int const peer = state.reason(rank).peer;
  return peer >= 0 ? peer : rank;
}

template <class Store>
constexpr void blame(play_state<Store> const& state, verdict& found, int culprit, int victim, wait const& why,
                     int circle) {
  row_view const row = state.program.row(culprit);
  action const* const post = state.open_post(culprit);
  found.what = defect::deadlock;
  found.rank = culprit;
  found.peer = victim;
  found.position = post != nullptr ? static_cast<int>(post - row.begin())
                                   : (state.position[culprit] < row.size ? state.position[culprit] : row.size - 1);
  action const& cell = row[found.position];
  found.action = cell.what;
  found.stage = cell.stage;
  found.micro_batch = static_cast<int>(cell.micro_batch);
  found.owed = why.what;
  found.owed_stage = why.stage;
  found.owed_micro_batch = why.micro_batch;
  found.limit = circle;
}

/// Follows the chain of waits from a stuck rank into its circle. Of the ranks in the circle the one to blame is the one
/// that owes the earliest work: its row has something in front of that work which needs the rest of the circle.
template <class Store>
constexpr void accuse(play_state<Store> const& state, verdict& found, int rank) {
  for (int step = 0; step < state.ranks; ++step) rank = next_in_chain(state, rank);
  int const first = rank;
  int circle = 0;
  int victim = rank;
  wait best = state.reason(rank);
  do {
    wait const why = state.reason(rank);
    if (circle > 0 && is_earlier(why, best)) {
      best = why;
      victim = rank;
    }
    ++circle;
    rank = next_in_chain(state, rank);
  } while (rank != first);
  blame(state, found, best.peer >= 0 ? best.peer : victim, victim, best, circle);
}

}  // namespace weft::inline v1::schedule::detail
