// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>

#include <string>

/// @file
/// What people are told an action is called: by the letters of docs/glossary.md, with a stage and a micro-batch where
/// the action has one.

namespace weft::inline v1::schedule {

/// NORM, PARTIAL_NORM and VALIDATE are of all stages at once.
constexpr bool has_stage(op what) { return what != op::none && !is_of_rank(what); }

/// What comes once a step has none.
constexpr bool has_micro_batch(op what) { return traits_of(what).is_compute || traits_of(what).is_post; }

/// "F5", "REDUCE_GRAD", "NORM".
[[nodiscard]] inline std::string action_name(op what, int micro_batch) {
  std::string name = traits_of(what).letters;
  if (has_micro_batch(what)) name += std::to_string(micro_batch);
  return name;
}

/// "F of stage 2, micro-batch 5", "REDUCE_GRAD of stage 2", "NORM".
[[nodiscard]] inline std::string describe_action(op what, int stage, int micro_batch) {
  std::string words = traits_of(what).letters;
  if (has_stage(what)) words += " of stage " + std::to_string(stage);
  if (has_micro_batch(what)) words += ", micro-batch " + std::to_string(micro_batch);
  return words;
}

}  // namespace weft::inline v1::schedule
