// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule::passes {

/// Puts REDUCE_GRAD over the data axis right behind a stage's last backward (B or W), where its gradient is complete,
/// so that it runs while other stages still compute. Empty cells go.
///
///     F0 F1 B0 B1   becomes   F0 F1 B0 B1 REDUCE_GRAD
constexpr program reduce_gradients(program_view const& from) {
  int const stages = from.stages() * from.graph.copies;
  program result = like(from, action_count(from) + stages);
  weft::detail::buffer<int> left(stages);
  for (int rank = 0; rank < from.ranks(); ++rank)
    for (action const& cell : from.row(rank))
      if (traits_of(cell.what).makes_weight_gradient) ++left[cell.copy * from.stages() + cell.stage];
  for (int rank = 0; rank < from.ranks(); ++rank) {
    for (action const& cell : from.row(rank)) {
      if (cell.what != op::none) result.append(cell);
      if (!traits_of(cell.what).makes_weight_gradient || --left[cell.copy * from.stages() + cell.stage] > 0) continue;
      action reduce = make_action(op::reduce_gradient, cell.stage, 0);
      reduce.where = lane::communication;
      reduce.copy = cell.copy;
      reduce.group = static_cast<std::uint8_t>(reduction::data);
      result.append(reduce);
    }
    result.end_row();
  }
  result.set_reduces_over_data(true);
  return result;
}

}  // namespace weft::inline v1::schedule::passes
