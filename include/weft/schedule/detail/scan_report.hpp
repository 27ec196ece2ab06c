// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/verdict.hpp>

namespace weft::inline v1::schedule::detail {

/// Keeps the defect of highest priority (verdict.hpp lists them in that order), and of equals the first.
struct defect_report {
  program_view program;
  verdict found;

  /// About one action; true when this defect is now the one kept.
  constexpr bool at(defect what, int rank, action const* cell, int peer = -1, int value = 0, int limit = 0) {
    if (found.what != defect::none && found.what <= what) return false;
    found.what = what;
    found.rank = rank;
    found.peer = peer;
    found.value = value;
    found.limit = limit;
    if (cell != nullptr) {
      found.action = cell->what;
      found.position = static_cast<int>(cell - program.row(rank).begin());
      found.stage = cell->stage;
      found.micro_batch = static_cast<int>(cell->micro_batch);
    }
    return true;
  }

  /// About work that no action does.
  constexpr bool about(defect what, int rank, int stage, int micro_batch, int peer = -1) {
    if (!at(what, rank, nullptr, peer)) return false;
    found.action = op::none;
    found.position = -1;
    found.stage = stage;
    found.micro_batch = micro_batch;
    return true;
  }
};

}  // namespace weft::inline v1::schedule::detail
