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
/// * F reads weights that exist: the newest, one of the `work.versions` newest, or one that a micro-batch in flight
/// keeps
/// * I, B, W and R read what F of their micro-batch read, or without stashing the newest
/// * kept by a stage: the newest, and what micro-batches between F and their last backward read
/// * staleness of a gradient: STEPs between the weights it was computed with and those it is added to
class version_check {
 public:
  constexpr version_check() = default;
  explicit constexpr version_check(program_view const& view)
      : program(view),
        read(view.stages() * view.graph.copies * view.micro_batches),
        alive(view.stages() * view.graph.copies * kinds),
        distinct(view.stages() * view.graph.copies) {}

  /// An F, B, I, W or R; `steps`: of the stage so far. Returns how many versions the stage keeps now.
  constexpr int see(defect_report& report, int rank, action const* cell, int which, int steps) {
    int const item = which * program.micro_batches + static_cast<int>(cell->micro_batch);
    int const behind = (steps - cell->version) & (kinds - 1);
    int* const users = alive.data() + which * kinds;
    bool const stashes = program.work.stashes_weights;
    if (cell->what == op::forward) {
      if (behind > steps || (behind >= program.work.versions && users[cell->version] == 0))
        report.at(defect::wrong_version, rank, cell, -1, cell->version, steps);
      read[item] = steps - behind;
      if (stashes && users[cell->version]++ == 0) ++distinct[which];
    } else if (stashes ? cell->version != (read[item] & (kinds - 1)) : behind != 0) {
      report.at(defect::wrong_version, rank, cell, -1, cell->version, stashes ? read[item] : steps);
    }
    if (cell->what == op::backward || cell->what == op::backward_weight) {
      if (steps - read[item] > report.found.staleness) report.found.staleness = steps - read[item];
      int& count = users[read[item] & (kinds - 1)];
      if (stashes && count > 0 && --count == 0) --distinct[which];
    }
    return kept(which, steps);
  }

  /// How many versions a stage keeps after `steps` STEPs.
  [[nodiscard]] constexpr int kept(int which, int steps) const {
    int const newest = alive[which * kinds + (steps & (kinds - 1))] == 0 ? 1 : 0;
    int const least = program.work.versions <= steps + 1 ? program.work.versions : steps + 1;
    return distinct[which] + newest > least ? distinct[which] + newest : least;
  }

 private:
  static constexpr int kinds = 256;  ///< `action::version` is a byte

  program_view program;
  buffer<int> read;      ///< [item]: the weights its F read, counted in STEPs
  buffer<int> alive;     ///< [stage][version]: micro-batches in flight that read it
  buffer<int> distinct;  ///< [stage]: versions that some micro-batch in flight reads
};

}  // namespace weft::inline v1::schedule::detail
