// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost_model.hpp>

namespace weft::inline v1::schedule {

/// Durations as a type, for schedules that are chosen while compiling: a pass of each kind and a hop, in whole numbers
/// of any one unit. Other costs are a type of the user's own with a `static constexpr cost_model value`.
///
///     zero_bubble_auto<8, costs<18522, 18086, 9337, 601>>     microseconds
template <int Forward, int BackwardInput, int BackwardWeight, int Hop = 0>
struct costs {
  static_assert(
      Forward > 0 && BackwardInput > 0 && BackwardWeight >= 0 && Hop >= 0,
      "weft::schedule::costs: a pass takes no time; give F and I a duration above 0, W and hops one of 0 or more");
  static constexpr cost_model value{.every = {Forward, BackwardInput, BackwardWeight}, .hop = Hop};
};

/// The field's unit: F = I = W = 1, no time for hops.
using unit_costs = costs<1, 1, 1>;

}  // namespace weft::inline v1::schedule
