// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/pipeline/instructions.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/transport/endpoint.hpp>

#include <vector>

namespace mini_llm {

/// The step that a rank has played last.
struct played_step {
  weft::schedule::program_view program;
  std::vector<weft::instruction> const& instructions;
  std::vector<weft::action_time> const& times;
  double seconds;  ///< from its first action to its last
  int replicas;    ///< of the model, over pipelines and copies
};

/// Time that the schedule would need if every action took what it took on average in the last step and messages took
/// none, over the time that the step did take: 1 is ideal. Negative where no step has run. Collective.
double ideal_share(weft::transport::endpoint& door, double deadline, played_step const& played);

template <class Trainer>
double ideal_share(Trainer& trainer) {
  auto const& engine = trainer.engine_of_training();
  return ideal_share(trainer.door(), trainer.deadline(),
                     {trainer.program(), engine.instructions(), engine.times(), engine.last_step_seconds(),
                      trainer.ranks().count() * trainer.ranks().copies()});
}

}  // namespace mini_llm
