// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <weft/transport/endpoint.hpp>

#include <string>

namespace mini_llm {

/// One preset each, in a source file of its own, so that they compile side by side. Collective over `door`'s ranks.
void run_nano(options const& chosen, weft::transport::endpoint& door, std::string const& executable);
void run_small(options const& chosen, weft::transport::endpoint& door, std::string const& executable);
void run_gpt2_124m(options const& chosen, weft::transport::endpoint& door, std::string const& executable);
void run_llama_nano(options const& chosen, weft::transport::endpoint& door, std::string const& executable);
void run_llama_160m(options const& chosen, weft::transport::endpoint& door, std::string const& executable);

/// `--plan`: prints and returns. Does not communicate.
void plan_nano(options const& chosen, int ranks);
void plan_small(options const& chosen, int ranks);
void plan_gpt2_124m(options const& chosen, int ranks);
void plan_llama_nano(options const& chosen, int ranks);
void plan_llama_160m(options const& chosen, int ranks);

}  // namespace mini_llm
