// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::inline v1::train {

/// By which norm a gradient is clipped where stages step one after the other (asynchronous schedules).
enum class clip_policy : std::uint8_t {
  per_stage,    ///< that of the stage's own gradient; tied parameters are clipped by their own. No message
  delayed_norm  ///< the global norm of some steps before (`window_plan::delay`); the first steps are not clipped
};

inline constexpr char const* clip_policy_names[] = {"per-stage", "delayed-norm"};

inline char const* to_text(clip_policy policy) { return clip_policy_names[static_cast<int>(policy)]; }

/// By name. Throws `error` for any other, and for "global" with the reason.
inline clip_policy clip_policy_of(std::string_view name) {
  if (name == clip_policy_names[0]) return clip_policy::per_stage;
  if (name == clip_policy_names[1]) return clip_policy::delayed_norm;
  if (name == "global")
    throw error(
        "weft::train: an asynchronous schedule cannot clip by the global norm of the same step: the last stage steps "
        "before the first one has its gradient, so that norm does not exist in time; use per-stage, or delayed-norm");
  throw error("weft::train: there is no clip policy \"" + std::string(name) + "\"; use per-stage or delayed-norm");
}

}  // namespace weft::inline v1::train
