// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/scan_report.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// Which weights an action reads, in asynchronous programs: the rules, how many versions a stage keeps, and how stale
/// they become.
///
/// * F reads weights that exist: the newest, one of the `work.versions` newest, one that a micro-batch in flight keeps,
/// or one that is older than the program and was there when it began (`work.steps_before`)
/// * I, B, W and R read what F of their micro-batch read, or without stashing the newest
/// * kept by a stage: the newest, what micro-batches between F and their last backward read, and of the weights older
/// than the program those that some F has yet to read
/// * staleness of a gradient: STEPs between the weights it was computed with and those it is added to
class version_check {
 public:
  constexpr version_check() = default;
  explicit constexpr version_check(program_view const& view)
      : program(view),
        read(view.stages() * view.graph.copies * view.micro_batches),
        alive(view.stages() * view.graph.copies * kinds),
        distinct(view.stages() * view.graph.copies),
        steps(distinct.size()),
        holder(distinct.size()) {
    for (int which = 0; which < holder.size(); ++which) {
      int const stage = which % view.stages();
      holder[which] = stage;
      while (view.graph.rank_of_stage[holder[which]] != view.graph.rank_of_stage[which]) holder[which] += view.stages();
    }
    if (view.work.steps_before > 0)
      for (int rank = 0; rank < view.ranks(); ++rank) expect_older(view.row(rank));
  }

  /// A STEP. Returns how many versions the stage keeps now.
  constexpr int step(int copy_of_stage) {
    int const which = holder[copy_of_stage];
    ++steps[which];
    return kept(which);
  }

  /// An F, B, I, W or R. Returns how many versions the stage keeps now.
  constexpr int see(defect_report& report, int rank, action const* cell, int copy_of_stage) {
    int const which = holder[copy_of_stage];
    int const made = program.work.steps_before + steps[which];
    int const item = copy_of_stage * program.micro_batches + static_cast<int>(cell->micro_batch);
    int const behind = (made - cell->version) & (kinds - 1);
    int* const users = alive.data() + which * kinds;
    bool const stashes = program.work.stashes_weights;
    if (cell->what == op::forward) {
      if (behind > made || (behind >= program.work.versions && users[cell->version] == 0))
        report.at(defect::wrong_version, rank, cell, -1, cell->version, made);
      read[item] = made - behind;
      if (made - behind >= program.work.steps_before) {
        if (stashes && users[cell->version]++ == 0) ++distinct[which];
      } else if (!stashes && users[cell->version] > 0) {  // it was expected; with stashing it stays, now in flight
        int const now = kept(which);
        if (--users[cell->version] == 0) --distinct[which];
        return now;
      }
    } else if (stashes ? cell->version != (read[item] & (kinds - 1)) : behind != 0) {
      report.at(defect::wrong_version, rank, cell, -1, cell->version, stashes ? read[item] : made);
    }
    if (cell->what == op::backward || cell->what == op::backward_weight) {
      if (made - read[item] > report.found.staleness) report.found.staleness = made - read[item];
      int& count = users[read[item] & (kinds - 1)];
      if (stashes && count > 0 && --count == 0) --distinct[which];
    }
    return kept(which);
  }

 private:
  static constexpr int kinds = 256;  ///< `action::version` is a byte

  [[nodiscard]] constexpr int kept(int which) const {
    int const made = program.work.steps_before + steps[which];
    int const newest = alive[which * kinds + (made & (kinds - 1))] == 0 ? 1 : 0;
    int const least = program.work.versions <= made + 1 ? program.work.versions : made + 1;
    return distinct[which] + newest > least ? distinct[which] + newest : least;
  }

  /// Every F of a row that reads weights older than the program keeps them until then.
  constexpr void expect_older(row_view row) {
    buffer<int> own(distinct.size());  // STEPs of the row so far
    for (action const& cell : row) {
      int const copy_of_stage = cell.copy * program.stages() + cell.stage;
      if (cell.stage >= program.stages() || copy_of_stage >= holder.size()) continue;
      int const which = holder[copy_of_stage];
      if (cell.what == op::step) ++own[which];
      if (cell.what != op::forward) continue;
      int const made = program.work.steps_before + own[which];
      int const behind = (made - cell.version) & (kinds - 1);
      if (behind > own[which] && behind <= made && alive[which * kinds + cell.version]++ == 0) ++distinct[which];
    }
  }

  program_view program;
  buffer<int> read;      ///< [item]: the weights its F read, counted in STEPs
  buffer<int> alive;     ///< [stage][version]: micro-batches in flight that read it, or will
  buffer<int> distinct;  ///< [stage]: versions that some micro-batch in flight reads
  buffer<int> steps;     ///< [stage]: STEPs in this program so far
  buffer<int> holder;    ///< [copy][stage]: copies of a stage on one rank are the same weights; the first of them
};

}  // namespace weft::inline v1::schedule::detail
