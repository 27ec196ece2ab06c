// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/pipeline/instructions.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/action_name.hpp>

#include <string>

namespace weft::inline v1::detail {

/// Throws `error` where an action asks for what the stage does not offer. `rank`: as messages call it.
template <class Stage, bool IsSplit, bool IsWhole>
void require_stage_offers(instruction const& each, int rank) {
  using schedule::op;
  auto const refuse = [&](std::string const& what) {
    throw error("weft::pipeline: the program has " + std::string(schedule::traits_of(each.what).letters) +
                    (schedule::has_stage(each.what) ? " of stage " + std::to_string(each.stage) : std::string()) +
                    ", but the stage " + what,
                {.rank = rank, .stage = schedule::has_stage(each.what) ? each.stage : -1});
  };
  if ((each.what == op::backward_input || each.what == op::backward_weight) && !IsSplit)
    refuse("has no backward_input and backward_weight; add them, or choose a schedule that does not split backward");
  if (each.what == op::backward && !IsSplit && !IsWhole)
    refuse("has no backward; add backward(context, in, grad_out, grad_in) or its two halves");
  if (each.what == op::reduce_gradient && !requires(Stage & stage) { stage.reduce_gradient(0, 0); })
    refuse("has no reduce_gradient(stage, group); add it, or lower the program without " +
           std::string(each.group == static_cast<int>(schedule::reduction::data) ? "reduce_over_data"
                                                                                 : "tied parameters"));
  if (each.what == op::norm && !requires(Stage & stage) { stage.norm(); })
    refuse("has no norm(); add it, or lower the program without an optimizer step");
  if (each.what == op::partial_norm && !requires(Stage & stage) { stage.partial_norm(); })
    refuse("has no partial_norm(); add it and validate(), or lower the program with norm_kind::synchronous");
  if (each.what == op::validate && !requires(Stage & stage) { stage.validate(); })
    refuse("has no validate(); add it and partial_norm(), or lower the program with norm_kind::synchronous");
  if (each.what == op::step && !requires(Stage & stage) { stage.step(0); })
    refuse("has no step(stage); add it, or lower the program without an optimizer step");
  if (each.what == op::unshard && !requires(Stage & stage) { stage.unshard(0); })
    refuse(
        "has no unshard(stage), which gathers its weights; add it and reshard, or leave out the windows of sharded "
        "weights");
  if (each.what == op::reshard && !requires(Stage & stage) { stage.reshard(0); })
    refuse(
        "has no reshard(stage), which drops what unshard gathered; add it, or leave out the windows of sharded "
        "weights");
}

}  // namespace weft::inline v1::detail
