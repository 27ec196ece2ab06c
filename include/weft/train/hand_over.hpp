// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/train/state.hpp>

#include <string>

namespace weft::inline v1::train {

/// Switches schedules in mid-training: `to` goes on from the newest weights and moments of `from`, with the step that
/// comes next. From an asynchronous trainer (between windows), older weights and gradients of tied parameters that are
/// still to be applied are let go; to one, the present weights are the oldest that it reads. Both must have the same
/// layers on this rank. Throws otherwise. Does not communicate; every rank calls it.
template <class From, class To>
void hand_over(From& from, To& to) {
  auto& source = from.stage().store();
  restore_state(to, true, [&](std::string const& kind, auto const& parameter, auto* out) {
    for (auto const& entry : source.entries()) {
      if (entry.descriptor.name != parameter.name || entry.descriptor.use_site != parameter.use_site) continue;
      auto const lock = from.door().launch_lock();
      source.read(kind == state_kinds[0]   ? source.value(entry)
                  : kind == state_kinds[1] ? source.first_moment(entry)
                                           : source.second_moment(entry),
                  out);
      return;
    }
    throw error("weft::train: hand_over: this rank's " + parameter.name +
                " was on another rank before; give both trainers one partition, or save and resume");
  });
  to.set_steps_done(from.steps_done(), from.optimizer_steps());
}

}  // namespace weft::inline v1::train
