// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/random.hpp>
#include <weft/plan/precision.hpp>
#include <weft/schedule/digest.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/trainer_options.hpp>
#include <weft/transport/agreement.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

/// @file
/// What all ranks of a training must have in common, whatever its trainer. A trainer adds what is its own between the
/// model's facts and the settings', and the caller what only it knows (executable, data). Does not communicate.

namespace weft::inline v1::train::detail {

/// Every bit of a number.
inline std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

/// The caller's facts, and those of the model in its stages.
template <class Model, class Real, class Stage>
void add_model_facts(transport::facts& all, trainer_options const& options,
                     std::vector<topology::layer_range> const& layers) {
  for (auto const& [name, value] : options.facts) all.add(name, value);
  std::uint64_t model = 0;
  for (auto const& range : layers)
    for (auto const& each : Stage::describe(range))
      model = model * 1099511628211U + random::hash(each.name) + static_cast<std::uint64_t>(each.elements());
  all.add("model", Model::name());
  all.add("model (digest of its parameters)", std::to_string(model));
  all.add("precision", precision_name<Real>());
  all.add("products of floats", blas::to_text(options.products));
  all.add("loss scale", options.scaling.text());
}

/// Of program, stages and optimizer.
inline void add_settings_facts(transport::facts& all, trainer_options const& options,
                               std::vector<topology::layer_range> const& layers,
                               schedule::program_view const& program) {
  std::string cut;
  for (auto const& range : layers) cut += (cut.empty() ? "" : ",") + std::to_string(range.last - range.first);
  all.add("program (digest)", std::to_string(schedule::digest(program)));
  all.add("layers per stage", cut);
  all.add("micro-batch", std::to_string(options.extents.sequences_per_micro_batch) + " x " +
                             std::to_string(options.extents.sequence_length));
  all.add("seed", std::to_string(options.seed));
  auto const& [beta1, beta2, epsilon, decay] = options.optimizer;
  all.add("AdamW (beta1, beta2, epsilon, weight decay)",
          exactly(beta1) + ", " + exactly(beta2) + ", " + exactly(epsilon) + ", " + exactly(decay));
  auto const& rate = options.learning_rate;
  all.add("learning rate (peak, warm-up, steps, floor)", exactly(rate.peak) + ", " + std::to_string(rate.warmup_steps) +
                                                             ", " + std::to_string(rate.total_steps) + ", " +
                                                             exactly(rate.floor));
}

}  // namespace weft::inline v1::train::detail
