// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "checkpoint.hpp"
#include "options.hpp"

#include <weft/train/asynchronous_state.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// What an asynchronous run saves beside values and moments, so that it goes on bit for bit: see
/// weft/train/asynchronous_state.hpp. Nothing here communicates.

namespace mini_llm {

template <class Trainer>
std::vector<int> layers_of(Trainer const& trainer) {
  std::vector<int> layers;
  for (auto const& range : trainer.partition()) layers.push_back(range.size());
  return layers;
}

template <class Trainer>
nlohmann::json carried_facts(options const& chosen, Trainer const& trainer,
                             weft::train::carried_numbers const& numbers) {
  return {{"schedule", chosen.schedule},          {"micro-batches", chosen.micro_batches},
          {"clip-policy", chosen.clip_policy},    {"layers", layers_of(trainer)},
          {"begun-at", numbers.begun_at},         {"applied", numbers.applied},
          {"tied-applied", numbers.tied_applied}, {"norms", numbers.norms},
          {"loss-scale", numbers.loss_scale}};
}

/// The tensors that go with it, in the order in which they come.
template <class Trainer>
std::vector<carried_tensor> carried_tensors(Trainer const& trainer) {
  std::vector<carried_tensor> all;
  for (std::size_t stage = 0; stage < trainer.partition().size(); ++stage)
    for (auto const& each : Trainer::stage_type::model_type::describe(trainer.partition()[stage]))
      if (each.use_site == 0)
        for (auto const& kind : weft::train::carried_kinds(trainer, stage, each)) all.push_back({kind, each});
  return all;
}

/// Why a run cannot take up what was saved, and so goes on from the newest weights alone; empty: it can.
template <class Trainer>
std::string differs_from_carried(nlohmann::json const& carried, options const& chosen, Trainer const& trainer) {
  if (carried.is_null()) return "the checkpoint was written under a schedule that steps on all ranks at once";
  for (auto const& [key, now] : {std::pair{"schedule", nlohmann::json(chosen.schedule)},
                                 std::pair{"micro-batches", nlohmann::json(chosen.micro_batches)},
                                 std::pair{"clip-policy", nlohmann::json(chosen.clip_policy)},
                                 std::pair{"layers", nlohmann::json(layers_of(trainer))}})
    if (auto const before = carried.value(key, nlohmann::json()); before != now)
      return std::string("the checkpoint was written with ") + (std::string(key) == "layers" ? "partition" : key) +
             " " + before.dump() + ", this run has " + now.dump();
  return {};
}

/// Takes it up. Errors: numbers that are missing.
template <class Trainer>
void take_up_carried(checkpoint_reader const& saved, Trainer& trainer) {
  using real = typename Trainer::real;
  auto const& carried = saved.facts().carried;
  weft::train::carried_numbers numbers;
  try {
    numbers.steps_done = saved.facts().step;
    numbers.optimizer_steps = saved.facts().optimizer_steps;
    carried.at("begun-at").get_to(numbers.begun_at);
    carried.at("applied").get_to(numbers.applied);
    carried.at("tied-applied").get_to(numbers.tied_applied);
    carried.at("norms").get_to(numbers.norms);
    numbers.loss_scale = carried.value("loss-scale", 1.0);  // of what was written before there was one
  } catch (nlohmann::json::exception const&) {
    throw weft::error("mini_llm::checkpoint: " + saved.path().string() +
                      " has no usable \"weft.carried\"; resume from another checkpoint");
  }
  weft::train::restore_carried(trainer, numbers, [&](std::string const& kind, auto const& parameter, real* out) {
    saved.template read<real>(kind, parameter, out);
  });
}

}  // namespace mini_llm
