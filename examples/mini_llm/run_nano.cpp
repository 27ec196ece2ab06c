// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"
#include "training.hpp"

#include <weft/model/gpt2.hpp>

namespace mini_llm {

void run_nano(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  run_training<weft::model::gpt2<weft::model::nano>>(chosen, door, executable);
}

void plan_nano(options const& chosen, int ranks) {
  print_plan<weft::model::gpt2<weft::model::nano>, numbers>(chosen, ranks);
}

}  // namespace mini_llm
