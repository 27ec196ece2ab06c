// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/topology/stage_graph.hpp>

namespace weft::inline v1::schedule {

/// The actions of one rank, in order.
struct row_view {
  action const* actions = nullptr;
  int size = 0;

  [[nodiscard]] constexpr action const* begin() const { return actions; }
  [[nodiscard]] constexpr action const* end() const { return actions + size; }
  constexpr action const& operator[](int index) const { return actions[index]; }
};

/// What a complete program must contain for every stage and micro-batch.
struct work_set {
  bool forward = true;
  bool backward = true;              ///< B, or I and W
  int frozen_prefix_stages = 0;      ///< stages below this one have F alone
  bool reduces_over_data = false;    ///< every other stage has one REDUCE_GRAD over the data axis
  bool reduces_over_copies = false;  ///< every trained stage of every copy has one REDUCE_GRAD among the copies
  bool post_validated = false;       ///< PARTIAL_NORM in place of NORM, and VALIDATE (passes/post_validate.hpp)
  bool reduces_ties = false;         ///< the first and the last stage have one REDUCE_GRAD of tied parameters

  /// STEP follows single backwards, not the last one alone: PipeDream, 2BW. `action::version` of F, B, I and W then
  /// says how many STEPs of the stage had made the weights that the action reads (modulo 256); it is 0 everywhere else.
  bool asynchronous = false;
  bool stashes_weights = true;  ///< asynchronous: backward reads the weights of its forward, else the newest
  int versions = 1;             ///< asynchronous: how many of a stage's newest weights are kept, at least
  /// Asynchronous programs that continue a run: STEPs that every stage has made before the program begins and whose
  /// weights it may still read. Versions count them too: 0 are the oldest of these weights, `steps_before` the newest.
  int steps_before = 0;
};

/// What is in flight between two turns of the program; none for flushing schedules.
struct carry_view {
  int versions = 1;  ///< weight versions alive at the boundary
};

/// How many buffers of each kind a rank owns for one of its stages; found by `lower`'s liveness analysis.
struct slot_counts {
  int activation = 0;      ///< what F keeps for backward
  int weight_context = 0;  ///< what I keeps for W (0 where B is not split)
  int receive_forward = 0;
  int send_forward = 0;
  int receive_backward = 0;
  int send_backward = 0;
};

/// The one representation of a distributed program, whatever made it: a policy, a CSV file, a planner. Non-owning:
/// `plan` keeps the arrays as constants, `program` (schedule/program.hpp) owns them on the heap.
///
/// Rows are over *world* ranks; equal rows may be stored once (`row_of_rank`).
struct program_view {
  row_view const* rows = nullptr;
  int row_count = 0;
  int const* row_of_rank = nullptr;
  int micro_batches = 0;
  topology::stage_graph_view graph;
  work_set work;
  carry_view carry;
  slot_counts const* slots = nullptr;  ///< per stage; null before `lower`
  char const* name = "";
  bool is_lowered = false;  ///< `slots` is not null; asked in its place, since not every compiler compares addresses
  bool recomputes = false;  ///< a lowered program has R actions

  [[nodiscard]] constexpr int ranks() const { return graph.ranks; }
  [[nodiscard]] constexpr int stages() const { return graph.stages; }
  [[nodiscard]] constexpr row_view row(int rank) const { return rows[row_of_rank[rank]]; }
};

}  // namespace weft::inline v1::schedule
