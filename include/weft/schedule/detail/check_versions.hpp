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
        distinct(view.stages() * view.graph.copies) {
    if (view.work.steps_before > 0)
      for (int rank = 0; rank < view.ranks(); ++rank) expect_older(view.row(rank));
  }

  /// An F, B, I, W or R; `own_steps`: of the stage in this program so far. Returns how many versions the stage keeps
  /// now.
  constexpr int see(defect_report& report, int rank, action const* cell, int which, int own_steps) {
    int const steps = program.work.steps_before + own_steps;
    int const item = which * program.micro_batches + static_cast<int>(cell->micro_batch);
    int const behind = (steps - cell->version) & (kinds - 1);
    int* const users = alive.data() + which * kinds;
    bool const stashes = program.work.stashes_weights;
    if (cell->what == op::forward) {
      if (behind > steps || (behind >= program.work.versions && users[cell->version] == 0))
        report.at(defect::wrong_version, rank, cell, -1, cell->version, steps);
      read[item] = steps - behind;
      if (steps - behind >= program.work.steps_before) {
        if (stashes && users[cell->version]++ == 0) ++distinct[which];
      } else if (!stashes && users[cell->version] > 0) {  // it was expected; with stashing it stays, now in flight
        int const now = kept(which, own_steps);
        if (--users[cell->version] == 0) --distinct[which];
        return now;
      }
    } else if (stashes ? cell->version != (read[item] & (kinds - 1)) : behind != 0) {
      report.at(defect::wrong_version, rank, cell, -1, cell->version, stashes ? read[item] : steps);
    }
    if (cell->what == op::backward || cell->what == op::backward_weight) {
      if (steps - read[item] > report.found.staleness) report.found.staleness = steps - read[item];
      int& count = users[read[item] & (kinds - 1)];
      if (stashes && count > 0 && --count == 0) --distinct[which];
    }
    return kept(which, own_steps);
  }

  /// How many versions a stage keeps after so many STEPs in this program.
  [[nodiscard]] constexpr int kept(int which, int own_steps) const {
    int const steps = program.work.steps_before + own_steps;
    int const newest = alive[which * kinds + (steps & (kinds - 1))] == 0 ? 1 : 0;
    int const least = program.work.versions <= steps + 1 ? program.work.versions : steps + 1;
    return distinct[which] + newest > least ? distinct[which] + newest : least;
  }

 private:
  static constexpr int kinds = 256;  ///< `action::version` is a byte

  /// Every F of a row that reads weights older than the program keeps them until then.
  constexpr void expect_older(row_view row) {
    buffer<int> steps(distinct.size());
    for (action const& cell : row) {
      int const which = cell.copy * program.stages() + cell.stage;
      if (cell.stage >= program.stages() || which >= steps.size()) continue;
      if (cell.what == op::step) ++steps[which];
      if (cell.what != op::forward) continue;
      int const own = steps[which];
      int const behind = (program.work.steps_before + own - cell.version) & (kinds - 1);
      if (behind > own && behind <= program.work.steps_before + own && alive[which * kinds + cell.version]++ == 0)
        ++distinct[which];
    }
  }

  program_view program;
  buffer<int> read;      ///< [item]: the weights its F read, counted in STEPs
  buffer<int> alive;     ///< [stage][version]: micro-batches in flight that read it, or will
  buffer<int> distinct;  ///< [stage]: versions that some micro-batch in flight reads
};

}  // namespace weft::inline v1::schedule::detail
