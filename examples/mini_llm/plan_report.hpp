// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <weft/schedule/make_program.hpp>

#include <string>

namespace mini_llm {

inline weft::schedule::program make_program(options const& chosen, int ranks) {
  return weft::schedule::make_program(to_text(chosen.schedule), ranks, chosen.micro_batches,
                                      {.recompute = chosen.recompute == recompute_kind::full});
}

template <class Model, class Trainer>
std::string headline(options const& chosen, Trainer const& trainer) {
  std::string layers;
  for (auto const& range : trainer.partition()) layers += (layers.empty() ? "" : ",") + std::to_string(range.size());
  return "model: " + Model::name() + ", " + std::to_string(Model::parameter_count()) + " parameters\nplan: " +
         to_text(chosen.schedule) + ", " + std::to_string(trainer.program().ranks()) + " ranks, " +
         std::to_string(chosen.micro_batches) + " micro-batches; layers per rank " + layers + "\n";
}

template <class Model>
void print_plan(options const&, int) {}

}  // namespace mini_llm
