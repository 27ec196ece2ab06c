// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// For a second build of mini_llm that has the smallest model alone: what the other presets are in it.
#include "run.hpp"

#include <weft/error.hpp>

namespace mini_llm {

namespace {
[[noreturn]] void refuse() { throw weft::error("mini_llm: this build of the test has --preset nano alone"); }
}  // namespace

void run_small(options const&, weft::transport::endpoint&, std::string const&) { refuse(); }
void run_gpt2_124m(options const&, weft::transport::endpoint&, std::string const&) { refuse(); }
void run_llama_nano(options const&, weft::transport::endpoint&, std::string const&) { refuse(); }
void run_llama_160m(options const&, weft::transport::endpoint&, std::string const&) { refuse(); }
void plan_small(options const&, int) { refuse(); }
void plan_gpt2_124m(options const&, int) { refuse(); }
void plan_llama_nano(options const&, int) { refuse(); }
void plan_llama_160m(options const&, int) { refuse(); }

}  // namespace mini_llm
