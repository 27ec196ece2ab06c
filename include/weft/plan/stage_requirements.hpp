// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/concepts/pipeline_stage.hpp>
#include <weft/config.hpp>

namespace weft::inline v1 {

/// The argument: the stage that lacks `backward_input` and `backward_weight`.
template <bool Offers, class Stage>
struct stage_must_offer_split_backward {
  static_assert(Offers,
                "weft::plan: the schedule splits the backward pass and the stage cannot; give the stage backward_input "
                "and backward_weight, or choose a schedule that does not split");
  static constexpr bool value = true;
};

/// The argument: the stage that lacks any backward.
template <bool Offers, class Stage>
struct stage_must_offer_backward {
  static_assert(
      Offers,
      "weft::plan: the schedule trains and the stage has no backward; give it backward, or backward_input and "
      "backward_weight, or choose schedule::forward_only");
  static constexpr bool value = true;
};

/// Whether a stage offers what a plan's schedule calls. `Context` and `Views` are what the engine would pass
/// (`weft::stage_context<Space>` and `weft::boundary_views<MemorySpace>`). The engine itself knows no schedule and
/// checks when it is given a program; this is the same check while compiling:
///
///     static_assert(weft::stage_suits_plan<plan, my_stage, my_stage::context, my_stage::views>());
template <class Plan, class Stage, class Context, class Views>
consteval bool stage_suits_plan() {
  static_assert(pipeline_stage<Stage, Context, Views>,
                "weft::plan: the stage lacks boundary, prepare or forward; see concepts/pipeline_stage.hpp");
  constexpr bool splits = split_backward_stage<Stage, Context, Views>;
  constexpr bool whole = whole_backward_stage<Stage, Context, Views>;
  if constexpr (Plan::splits_backward) {
    return stage_must_offer_split_backward<splits, Stage>::value;
  } else if constexpr (Plan::schedule_policy::work.backward) {
    return stage_must_offer_backward < splits || whole, Stage > ::value;
  }
  return true;
}

}  // namespace weft::inline v1
