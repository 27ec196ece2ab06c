// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/op.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::schedule {

/// When a posted send counts as complete.
enum class send_model : std::uint8_t {
  buffered,        ///< at once
  rendezvous,      ///< once its receive is posted; every released plan is held to this one
  in_issue_order,  ///< one queue per rank, in groups of neighbouring posts, each waiting for the one before (NCCL)
  blocking         ///< rendezvous, and every post also blocks its row; for information
};

/// What is wrong with a program. The order is the priority: of several defects the first in this list is reported, and
/// of several of one kind the first in row order (rank 0 first).
enum class defect : std::uint8_t {
  none,
  out_of_range,       ///< stage, micro-batch, copy or edge that does not exist
  wrong_rank,         ///< the stage is placed on another rank
  unexpected_action,  ///< not in the work set (a backward in a forward-only program)
  duplicate_forward,
  duplicate_backward,  ///< a second B or I
  duplicate_weight,    ///< a second W, or W after B
  missing_forward,
  missing_backward,
  missing_weight,
  backward_before_forward,
  weight_before_input,   ///< W before its I
  two_copies,            ///< one micro-batch on two copies of the model
  torn_pair,             ///< a half of a fused pair without the other half beside it
  wrong_version,         ///< reads weights that are not kept, or other weights than its forward did
  recompute_misplaced,   ///< R before its F, twice, or not followed by its backward
  input_not_ready,       ///< needs a stage on the same rank that runs later in the row
  step_too_early,        ///< REDUCE_GRAD or STEP before the stage's last backward
  duplicate_reduction,   ///< a second REDUCE_GRAD of one kind for one stage
  missing_reduction,     ///< a stage without it, in a program that reduces over the data axis
  duplicate_step,        ///< a second STEP of one stage
  empty_step,            ///< asynchronous: STEP without a new gradient
  missing_step,          ///< a trained stage without STEP although some rank has NORM or STEP, or a gradient never used
  duplicate_norm,        ///< a second NORM on one rank
  missing_norm,          ///< a rank without NORM although some rank has NORM or STEP
  norm_too_early,        ///< NORM before the rank's last backward or REDUCE_GRAD
  norm_after_step,       ///< NORM behind a STEP, which needs its result
  duplicate_validation,  ///< a second VALIDATE on one rank
  missing_validation,    ///< a rank without VALIDATE in a program whose steps are validated afterwards
  validation_too_late,   ///< VALIDATE behind something that cannot be undone: anything but F and posts
  collective_order,      ///< two ranks meet in the same collectives in different orders, or not equally often
  duplicate_message,     ///< a send or a receive posted twice
  missing_send,
  missing_receive,
  send_before_compute,  ///< posted before the action that fills it
  receive_after_use,    ///< posted after the action that reads it
  slot_out_of_range,
  slot_in_use,  ///< taken again before its last reader
  wrong_slot,   ///< W reads another slot than its I filled
  tag_out_of_range,
  receive_too_early,  ///< posted before VALIDATE for a message that is sent behind the sender's
  order_mismatch,     ///< sends and receives of one edge in different orders
  pair_mismatch,      ///< the same of two ranks, over all edges: under `in_issue_order`, where nothing else tells them
                      ///< apart
  deadlock
};

/// In which order the weight gradients of every stage are added up; equal bits with the serial run need `ascending`.
enum class accumulation : std::uint8_t { ascending, descending, mixed };

/// The finding of `play`: flat, so that it can be a constant and its members template arguments.
struct verdict {
  defect what = defect::none;
  send_model model = send_model::rendezvous;
  op action = op::none;  ///< the action at fault; on a deadlock, the one where the culprit stands
  int rank = -1;
  int position = -1;  ///< in the rank's row
  int stage = -1;
  int micro_batch = -1;
  int peer = -1;       ///< the other rank; on a deadlock, the one that waits for the culprit
  op owed = op::none;  ///< on a deadlock, what the peer waits for; it stands later in the culprit's row
  int owed_stage = -1;
  int owed_micro_batch = -1;
  int value = 0;  ///< of a range: what was found
  int limit = 0;  ///< of a range: the first illegal value; on a deadlock: ranks that wait in a circle

  // Figures; valid where `what` is none.
  int actions = 0;
  int peak_activations = 0;      ///< the most micro-batch activations alive on one rank
  int peak_in_flight = 0;        ///< the same without recompute: micro-batches between F and last backward
  int peak_weight_contexts = 0;  ///< the most I waiting for their W on one rank
  int peak_versions = 1;         ///< the most weight versions that a stage keeps
  int staleness = 0;             ///< the most STEPs between the weights of a gradient and those that it is added to
  int largest_tag = -1;
  accumulation order = accumulation::ascending;
  bool pair_order_matches = true;  ///< per directed pair of ranks, over all edges, as queues need it

  [[nodiscard]] constexpr bool playable() const { return what == defect::none; }
};

/// Per rank, for callers that want more than the largest.
struct rank_figures {
  int peak_activations = 0;
  int peak_in_flight = 0;
  int peak_weight_contexts = 0;
  int peak_versions = 1;  ///< of one stage
};

/// "B", "SEND_F", ... by the letters of op.hpp.
inline std::string letters_of(op what) { return traits_of(what).letters; }

/// One sentence: "rank 1 has 1F0 twice; keep one". Empty for a playable program.
WEFT_SCHEDULES_INLINE std::string explain(verdict const& found);

#if defined(WEFT_DEFINES_SCHEDULES)

WEFT_SCHEDULES_INLINE std::string explain(verdict const& found) {
  auto const number = [](int value) { return std::to_string(value); };
  auto const cell = [&](op what, int stage, int micro_batch) {
    if (is_of_rank(what)) return letters_of(what);
    if (what == op::reduce_gradient || what == op::step) return number(stage) + letters_of(what);
    return number(stage) + letters_of(what) + number(micro_batch);
  };
  std::string const mine = cell(found.action, found.stage, found.micro_batch);
  std::string const at = "rank " + number(found.rank) + ", action " + number(found.position) + " (" + mine + "): ";
  std::string const work = "stage " + number(found.stage) + ", micro-batch " + number(found.micro_batch) + ": ";
  switch (found.what) {
    case defect::none: return "";
    case defect::out_of_range:
      return at + number(found.value) + " is outside 0 .. " + number(found.limit - 1) + "; remove the action";
    case defect::wrong_rank:
      return at + "stage " + number(found.stage) + " is placed on rank " + number(found.peer) +
             "; move the action there";
    case defect::unexpected_action: return at + "is not part of this program's work; remove it";
    case defect::duplicate_forward: return at + "multiple forwards of one micro-batch; keep one";
    case defect::duplicate_backward: return at + "multiple input backwards of one micro-batch; keep one B or one I";
    case defect::duplicate_weight: return at + "multiple release actions of one micro-batch; keep one B or one W";
    case defect::missing_forward: return work + "forward action missing; add F on rank " + number(found.rank);
    case defect::missing_backward:
      return work + "backward action missing; add B, or I and W, on rank " + number(found.rank);
    case defect::missing_weight: return work + "weight action missing; add W after I on rank " + number(found.rank);
    case defect::backward_before_forward: return at + "comes before its forward; put F first";
    case defect::weight_before_input: return at + "comes before its input gradient; put I first";
    case defect::two_copies:
      return work + "is done on two copies of the model, the other one on rank " + number(found.peer) +
             "; keep a micro-batch on one copy";
    case defect::torn_pair:
      return at + "is half of a fused pair, or parts one; put F and its B or I side by side, F first";
    case defect::wrong_version:
      return at + "reads version " + number(found.value) + " of the weights, and should read " + number(found.limit) +
             " or one that is kept; set its version";
    case defect::recompute_misplaced: return at + "must stand once between F and the backward; move it";
    case defect::input_not_ready:
      return at + "needs " + cell(found.owed, found.owed_stage, found.owed_micro_batch) +
             ", which comes later on the same rank; exchange them";
    case defect::step_too_early: return at + "comes before the stage's last backward; move it to the end";
    case defect::duplicate_reduction:
      return at + "a second reduction of one stage's gradients counts them twice; keep one";
    case defect::missing_reduction:
      if (found.value == 2)
        return "stage " + number(found.stage) +
               " has no REDUCE_GRAD among the copies of the model, so they would drift apart; add one on rank " +
               number(found.rank) + " after the stage's last backward";
      if (found.value == 1)
        return "stage " + number(found.stage) +
               " has no REDUCE_GRAD of tied parameters, so their use sites would drift apart; add one on rank " +
               number(found.rank) + " after the stage's last backward";
      return "stage " + number(found.stage) +
             " has no REDUCE_GRAD over the data axis, so its replicas would drift "
             "apart; add one on rank " +
             number(found.rank) + " after the stage's last backward";
    case defect::duplicate_step: return at + "a second STEP of one stage; keep one";
    case defect::empty_step: return at + "comes before any gradient since the last STEP; move it behind a backward";
    case defect::missing_step:
      return "stage " + number(found.stage) + " has gradients that no STEP uses; add STEP on rank " +
             number(found.rank) + " after them";
    case defect::duplicate_norm:
      return at + "a second " + letters_of(found.action) + " on one rank, which no other rank answers; keep one";
    case defect::missing_norm:
      return "rank " + number(found.rank) + " has no " + letters_of(found.action) + " although the program has " +
             letters_of(found.action) + " or STEP; all ranks take part, so add one before its STEPs";
    case defect::norm_too_early:
      return at + "comes before the rank's last backward or REDUCE_GRAD; move it behind them";
    case defect::norm_after_step: return at + "comes after a STEP, which needs its result; move it before";
    case defect::duplicate_validation: return at + "a second VALIDATE on one rank; keep one";
    case defect::missing_validation:
      return "rank " + number(found.rank) +
             " has no VALIDATE although its steps are validated afterwards; add one before its first backward";
    case defect::validation_too_late:
      return at + "comes after a backward or a collective, which cannot be undone; move it before";
    case defect::collective_order:
      return at + "stands where rank " + number(found.peer) +
             " has another collective of the two, or none; give both ranks the same collectives in one order";
    case defect::duplicate_message: return at + "posted twice; keep one";
    case defect::missing_send:
      return work + letters_of(found.owed) + " is missing on rank " + number(found.rank) + "; rank " +
             number(found.peer) + " waits for it";
    case defect::missing_receive:
      return work + letters_of(found.owed) + " is missing on rank " + number(found.rank) + "; rank " +
             number(found.peer) + " sends it";
    case defect::send_before_compute: return at + "posted before the action that fills its buffer; move it behind";
    case defect::receive_after_use: return at + "posted after the action that reads its buffer; move it before";
    case defect::slot_out_of_range:
      return at + "uses slot " + number(found.value) + " of " + number(found.limit) + "; raise the slot count";
    case defect::slot_in_use:
      return at + "takes slot " + number(found.value) + " while micro-batch " + number(found.limit) +
             " still needs it; use another slot";
    case defect::wrong_slot:
      return at + "reads slot " + number(found.value) + ", but its I filled slot " + number(found.limit) +
             "; give it that slot";
    case defect::tag_out_of_range:
      return "tag " + number(found.value) + " is above " + number(found.limit) + "; use fewer edges per rank pair";
    case defect::order_mismatch:
      return at + "is message " + number(found.value) + " of its edge where rank " + number(found.peer) +
             " has it as message " + number(found.limit) + "; post both sides in one order";
    case defect::receive_too_early:
      return at + "is posted before VALIDATE for a message that rank " + number(found.peer) +
             " sends behind its own, so that a redo would take another one for it; post it behind VALIDATE";
    case defect::pair_mismatch:
      return at + "is the message " + number(found.value) + " from rank " + number(found.peer) +
             " here, which sends another one then, and nothing but the order tells them apart; post both sides in one "
             "order (receive_time::at_use)";
    case defect::deadlock:
      if (found.model == send_model::in_issue_order)
        return "deadlock: rank " + number(found.rank) + " stands at action " + number(found.position) + " (" + mine +
               "), but rank " + number(found.peer) + " waits for its " +
               cell(found.owed, found.owed_stage, found.owed_micro_batch) +
               ", which is behind a post that does not end or comes later in its row; lower the program with "
               "receive_time::at_use";
      return "deadlock: rank " + number(found.rank) + " stands at action " + number(found.position) + " (" + mine +
             "), but rank " + number(found.peer) + " waits for its " +
             cell(found.owed, found.owed_stage, found.owed_micro_batch) + ", which comes later in its row (" +
             number(found.limit) + (found.limit == 1 ? " rank waits" : " ranks wait") +
             " in a circle); move it forward";
  }
  return "unknown defect";
}

#endif

}  // namespace weft::inline v1::schedule
