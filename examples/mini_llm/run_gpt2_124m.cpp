// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"
#include "training.hpp"

#include <weft/model/gpt2.hpp>

namespace mini_llm {

void run_gpt2_124m(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  run_training<weft::model::gpt2<weft::model::gpt2_124m>>(chosen, door, executable);
}

void plan_gpt2_124m(options const& chosen, int ranks) {
  print_plan<weft::model::gpt2<weft::model::gpt2_124m>, numbers>(chosen, ranks);
}

}  // namespace mini_llm
