// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/csv.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft_schedule {

/// A defect's name, as `weft-schedule check` prints it. No default: a new defect must get one.
constexpr char const* name_of(weft::schedule::defect what) {
  using weft::schedule::defect;
  switch (what) {
    case defect::none: return "none";
    case defect::out_of_range: return "out-of-range";
    case defect::wrong_rank: return "wrong-rank";
    case defect::unexpected_action: return "unexpected-action";
    case defect::duplicate_forward: return "duplicate-forward";
    case defect::duplicate_backward: return "duplicate-backward";
    case defect::duplicate_weight: return "duplicate-weight";
    case defect::missing_forward: return "missing-forward";
    case defect::missing_backward: return "missing-backward";
    case defect::missing_weight: return "missing-weight";
    case defect::backward_before_forward: return "backward-before-forward";
    case defect::weight_before_input: return "weight-before-input";
    case defect::two_copies: return "two-copies";
    case defect::torn_pair: return "torn-pair";
    case defect::wrong_version: return "wrong-version";
    case defect::recompute_misplaced: return "recompute-misplaced";
    case defect::input_not_ready: return "input-not-ready";
    case defect::step_too_early: return "step-too-early";
    case defect::duplicate_reduction: return "duplicate-reduction";
    case defect::missing_reduction: return "missing-reduction";
    case defect::duplicate_step: return "duplicate-step";
    case defect::empty_step: return "empty-step";
    case defect::missing_step: return "missing-step";
    case defect::duplicate_norm: return "duplicate-norm";
    case defect::missing_norm: return "missing-norm";
    case defect::norm_too_early: return "norm-too-early";
    case defect::norm_after_step: return "norm-after-step";
    case defect::duplicate_validation: return "duplicate-validation";
    case defect::missing_validation: return "missing-validation";
    case defect::validation_too_late: return "validation-too-late";
    case defect::collective_order: return "collective-order";
    case defect::receive_too_early: return "receive-too-early";
    case defect::duplicate_message: return "duplicate-message";
    case defect::missing_send: return "missing-send";
    case defect::missing_receive: return "missing-receive";
    case defect::send_before_compute: return "send-before-compute";
    case defect::receive_after_use: return "receive-after-use";
    case defect::slot_out_of_range: return "slot-out-of-range";
    case defect::slot_in_use: return "slot-in-use";
    case defect::wrong_slot: return "wrong-slot";
    case defect::tag_out_of_range: return "tag-out-of-range";
    case defect::order_mismatch: return "order-mismatch";
    case defect::pair_mismatch: return "pair-mismatch";
    case defect::deadlock: return "deadlock";
  }
  return "unknown";
}

constexpr char const* name_of(weft::schedule::csv_fault what) {
  using weft::schedule::csv_fault;
  switch (what) {
    case csv_fault::none: return "none";
    case csv_fault::empty_table: return "empty-table";
    case csv_fault::no_stage_number: return "no-stage-number";
    case csv_fault::unknown_action: return "unknown-action";
    case csv_fault::no_micro_batch: return "no-micro-batch";
    case csv_fault::negative_micro_batch: return "negative-micro-batch";
    case csv_fault::number_too_large: return "number-too-large";
    case csv_fault::unclosed_pair: return "unclosed-pair";
    case csv_fault::stage_on_two_ranks: return "stage-on-two-ranks";
    case csv_fault::stage_nowhere: return "stage-nowhere";
    case csv_fault::micro_batch_too_large: return "micro-batch-too-large";
    case csv_fault::stage_too_large: return "stage-too-large";
    case csv_fault::table_too_large: return "table-too-large";
  }
  return "unknown";
}

/// Whether the text is a table at all: what is wrong then is the table's (exit status 1), not the file's (2).
constexpr bool is_of_the_table(weft::schedule::csv_fault what) {
  using weft::schedule::csv_fault;
  return what == csv_fault::negative_micro_batch || what == csv_fault::stage_on_two_ranks ||
         what == csv_fault::stage_nowhere || what == csv_fault::micro_batch_too_large ||
         what == csv_fault::stage_too_large;
}

}  // namespace weft_schedule
