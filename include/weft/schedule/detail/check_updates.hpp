// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/scan_report.hpp>
#include <weft/schedule/detail/store.hpp>

namespace weft::inline v1::schedule::detail {

/// F and the posts, which a redo does again, may stand before VALIDATE; nothing else may.
constexpr bool may_not_precede_validation(op what) {
  bool const is_post = what >= op::send_forward && what <= op::receive_backward;
  return what != op::none && what != op::forward && !is_post;
}

/// The rules about what ends a step: REDUCE_GRAD, NORM and STEP, and VALIDATE, which ends the one before.
///
/// NORM belongs to a rank, not to a stage: every rank takes part in it, so that one too few or too many hangs the run.
/// PARTIAL_NORM stands in its place where steps are validated afterwards. An asynchronous program has none, and its
/// STEPs stand between backwards.
template <class Store>
class update_check {
 public:
  explicit constexpr update_check(program_view const& view)
      : program(view),
        ended_at(view.stages() * view.graph.copies),
        reduced(ended_at.size()),
        tied(ended_at.size()),
        over_copies(ended_at.size()),
        steps(ended_at.size()),
        fresh(ended_at.size()) {}

  /// A REDUCE_GRAD or STEP, in the order of its row.
  constexpr void end_of_stage(defect_report& report, int rank, action const* cell, int which) {
    if (!has_backward(cell->stage)) report.at(defect::unexpected_action, rank, cell);
    int const position = static_cast<int>(cell - program.row(rank).begin());
    if (cell->what == op::step) {
      if (step_at < 0) step_at = position;
      ++steps[which];
      if (program.work.asynchronous) {
        if (fresh[which] == 0) report.at(defect::empty_step, rank, cell);
        fresh[which] = 0;
        return;
      }
      if (steps[which] > 1) report.at(defect::duplicate_step, rank, cell);
    }
    if (ended_at[which] == 0) ended_at[which] = position + 1;
    if (cell->what != op::reduce_gradient) return;
    bool const over_data = cell->group == static_cast<std::uint8_t>(reduction::data);
    if (over_data && !program.work.reduces_over_data) report.at(defect::unexpected_action, rank, cell);
    if (cell->group == static_cast<std::uint8_t>(reduction::copies)) {
      if (!program.work.reduces_over_copies) report.at(defect::unexpected_action, rank, cell);
      if (over_copies[which] != 0) report.at(defect::duplicate_reduction, rank, cell);
      over_copies[which] = position + 1;
      return;
    }
    if (cell->group > static_cast<std::uint8_t>(reduction::copies)) report.at(defect::unexpected_action, rank, cell);
    int& count = over_data ? reduced[which] : tied[which];
    if (++count > 1) report.at(defect::duplicate_reduction, rank, cell);
  }

  /// NORM, PARTIAL_NORM or VALIDATE.
  constexpr void of_rank(defect_report& report, int rank, action const* cell) {
    bool const fits = (cell->what == op::norm) != program.work.post_validated;
    if (!fits || !program.work.backward || program.work.asynchronous) report.at(defect::unexpected_action, rank, cell);
    if (cell->what == op::validate) {
      if (validated_at >= 0) report.at(defect::duplicate_validation, rank, cell);
      if (validated_at < 0) validated_at = static_cast<int>(cell - program.row(rank).begin());
      return;
    }
    if (norm_at >= 0) report.at(defect::duplicate_norm, rank, cell);
    if (norm_at < 0) norm_at = static_cast<int>(cell - program.row(rank).begin());
  }

  /// After a rank's row: NORM adds up finished gradients, and STEP needs its result.
  constexpr void end_of_row(defect_report& report, int rank) {
    row_view const row = program.row(rank);
    if (norm_at >= 0 || step_at >= 0) has_optimizer = true;
    if (norm_at < 0 && without_norm < 0) without_norm = rank;
    if (norm_at >= 0 && step_at >= 0 && step_at < norm_at)
      report.at(defect::norm_after_step, rank, row.begin() + norm_at);
    for (int index = norm_at + 1; norm_at >= 0 && index < row.size; ++index) {
      op const what = row[index].what;
      if (what == op::backward || what == op::backward_input || what == op::backward_weight ||
          what == op::reduce_gradient)
        report.at(defect::norm_too_early, rank, row.begin() + norm_at);
    }
    if (program.work.post_validated) end_of_validated_row(report, rank);
    norm_at = -1;
    step_at = -1;
    validated_at = -1;
  }

  /// After the last row.
  constexpr void end(defect_report& report) {
    work_set const& work = program.work;
    if (has_optimizer && !work.asynchronous && without_norm >= 0 &&
        report.at(defect::missing_norm, without_norm, nullptr))
      report.found.action = work.post_validated ? op::partial_norm : op::norm;
    for (int which = 0; which < ended_at.size(); ++which) {
      int const stage = which % program.stages();
      if (!has_backward(stage)) continue;
      bool const at_end = stage == 0 || stage == program.stages() - 1;
      if (work.reduces_over_data && reduced[which] == 0) missing(report, defect::missing_reduction, which);
      if (work.reduces_over_copies && over_copies[which] == 0) missing(report, defect::missing_reduction, which, 2);
      if (work.reduces_ties && at_end && tied[which] == 0) missing(report, defect::missing_reduction, which, 1);
      if (work.asynchronous ? fresh[which] != 0 : has_optimizer && steps[which] == 0)
        missing(report, defect::missing_step, which);
    }
    check_ties(report);
    if (program.graph.copies > 1) check_copies(report);
  }

  [[nodiscard]] constexpr bool has_backward(int stage) const {
    return program.work.backward && stage >= program.work.frozen_prefix_stages;
  }

 private:
  /// VALIDATE may undo what stands before it, and knows how to do forwards again, and their posts, but nothing else.
  constexpr void end_of_validated_row(defect_report& report, int rank) const {
    row_view const row = program.row(rank);
    if (validated_at < 0) {
      if ((norm_at >= 0 || step_at >= 0) && report.at(defect::missing_validation, rank, nullptr))
        report.found.action = op::validate;
      return;
    }
    for (int index = 0; index < validated_at; ++index)
      if (may_not_precede_validation(row[index].what))
        report.at(defect::validation_too_late, rank, row.begin() + validated_at);
  }

  /// Ranks that reduce tied parameters meet in each of their REDUCE_GRADs, so all have as many of them.
  constexpr void check_ties(defect_report& report) const {
    int first = -1;
    int wanted = 0;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      int own = 0;
      for (int which = 0; which < tied.size(); ++which)
        if (program.graph.rank_of_stage[which] == rank) own += tied[which];
      if (own == 0) continue;
      if (first < 0) {
        first = rank;
        wanted = own;
      } else if (own != wanted) {
        disagree(report, own > wanted ? rank : first, own > wanted ? first : rank, reduction::tied);
      }
    }
  }

  /// Two ranks that hold copies of two stages begin their reductions in one order.
  constexpr void check_copies(defect_report& report) const {
    int const stages = program.stages();
    for (int stage = 0; stage < stages; ++stage)
      for (int other = stage + 1; other < stages; ++other)
        for (int rank = 0; rank < program.ranks(); ++rank)
          for (int peer = rank + 1; peer < program.ranks(); ++peer) {
            int const mine = order_on(rank, stage, other);
            int const its = order_on(peer, stage, other);
            if (mine != 0 && its != 0 && mine != its) disagree(report, rank, peer, reduction::copies);
          }
  }

  /// -1 where a rank reduces `stage` before `other`, 1 behind it, 0 where it does not hold both.
  [[nodiscard]] constexpr int order_on(int rank, int stage, int other) const {
    int first = 0;
    int second = 0;
    for (int copy = 0; copy < program.graph.copies; ++copy) {
      if (program.graph.rank_of(stage, copy) == rank) first = over_copies[copy * program.stages() + stage];
      if (program.graph.rank_of(other, copy) == rank) second = over_copies[copy * program.stages() + other];
    }
    return first == 0 || second == 0 ? 0 : (first < second ? -1 : 1);
  }

  /// Names the last REDUCE_GRAD of that kind on a rank.
  constexpr void disagree(defect_report& report, int rank, int peer, reduction over) const {
    action const* last = nullptr;
    for (action const& cell : program.row(rank))
      if (cell.what == op::reduce_gradient && cell.group == static_cast<std::uint8_t>(over)) last = &cell;
    report.at(defect::collective_order, rank, last, peer);
  }

  constexpr void missing(defect_report& report, defect what, int which, int kind = 0) const {
    if (!report.at(what, program.graph.rank_of_stage[which], nullptr)) return;
    report.found.action = what == defect::missing_step ? op::step : op::reduce_gradient;
    report.found.stage = which % program.stages();
    report.found.value = kind;
  }

  program_view program;
  int norm_at = -1;       ///< of the row that is read: position of its NORM
  int step_at = -1;       ///< and of its first STEP
  int validated_at = -1;  ///< of its VALIDATE
  int without_norm = -1;
  bool has_optimizer = false;  ///< some rank has NORM or STEP

 public:
  // Per stage:
  typename Store::template array<int, Store::stages> ended_at;  ///< 1 + position of its first REDUCE_GRAD or STEP, or 0
  typename Store::template array<int, Store::stages> reduced;   ///< REDUCE_GRADs over the data axis
  typename Store::template array<int, Store::stages> tied;      ///< REDUCE_GRADs of tied parameters
  typename Store::template array<int, Store::stages> over_copies;  ///< 1 + position of the one among copies, or 0
  typename Store::template array<int, Store::stages> steps;        ///< STEPs so far
  typename Store::template array<int, Store::stages> fresh;        ///< asynchronous: gradients since the last STEP
};

}  // namespace weft::inline v1::schedule::detail
