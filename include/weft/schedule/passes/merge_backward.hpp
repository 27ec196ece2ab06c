// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule::passes {

/// Writes B for an I whose W stands right behind it: one pass over the stage in place of two, and nothing kept between
/// them. Empty cells go.
///
///     I0 I1 W0 I2 W2 W1   becomes   I0 I1 W0 B2 W1
constexpr program merge_backward(program_view const& from) {
  program result = like(from, action_count(from));
  for (int rank = 0; rank < from.ranks(); ++rank) {
    row_view const row = from.row(rank);
    for (int index = 0; index < row.size; ++index) {
      action cell = row[index];
      if (cell.what == op::none) continue;
      if (cell.what == op::backward_input && index + 1 < row.size) {
        action const& next = row[index + 1];
        if (next.what == op::backward_weight && next.stage == cell.stage && next.micro_batch == cell.micro_batch &&
            next.copy == cell.copy && next.version == cell.version) {
          cell.what = op::backward;
          ++index;
        }
      }
      result.append(cell);
    }
    result.end_row();
  }
  return result;
}

}  // namespace weft::inline v1::schedule::passes
