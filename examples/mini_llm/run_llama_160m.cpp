// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"
#include "training.hpp"

#include <weft/model/llama.hpp>

namespace mini_llm {

void run_llama_160m(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  run_training<weft::model::llama<weft::model::llama_160m>>(chosen, door, executable);
}

void plan_llama_160m(options const& chosen, int ranks) {
  print_plan<weft::model::llama<weft::model::llama_160m>, numbers>(chosen, ranks);
}

}  // namespace mini_llm
