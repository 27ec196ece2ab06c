// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"
#include "files.hpp"
#include "run.hpp"
#include "stop_signal.hpp"

#include <weft/transport/environment.hpp>
#include <weft/transport/in_process.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

namespace {

using namespace mini_llm;

/// Of the file that runs: ranks of two builds would not give equal bits.
std::string digest_of_executable() {
  auto const bytes = read_file("executable", "/proc/self/exe");
  return std::to_string(XXH3_64bits(bytes.data(), bytes.size()));
}

void run(options const& chosen, weft::transport::endpoint& door, std::string const& executable) {
  switch (chosen.preset) {
    case preset_kind::nano: return run_nano(chosen, door, executable);
    case preset_kind::small: return run_small(chosen, door, executable);
    case preset_kind::gpt2_124m: return run_gpt2_124m(chosen, door, executable);
  }
}

void plan(options const& chosen, int ranks) {
  switch (chosen.preset) {
    case preset_kind::nano: return plan_nano(chosen, ranks);
    case preset_kind::small: return plan_small(chosen, ranks);
    case preset_kind::gpt2_124m: return plan_gpt2_124m(chosen, ranks);
  }
}

/// What the user can mend before a step is done ends every rank alike, with one message and status 2. What happens
/// later leaves `main` as an exception, and weft::environment ends all ranks with it.
int usage_error(bool is_root, std::exception const& problem) {
  if (is_root) std::fprintf(stderr, "mini_llm: %s\n", problem.what());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  auto& world = env.world();
  bool const is_root = world.rank() == 0;
  command_line parsed;
  try {
    parsed = parse_command_line(argc, argv);
    if (!parsed.proceed()) {
      if (is_root) std::cout << parsed.message;
      return 0;
    }
    if (parsed.chosen.plan) {
      int const ranks = parsed.chosen.ranks > 0 ? parsed.chosen.ranks : world.size();
      if (is_root) plan(parsed.chosen, ranks);
      return 0;
    }
  } catch (std::exception const& problem) {
    return usage_error(is_root, problem);
  }
  catch_stop_signals();
  try {
    std::string const executable = digest_of_executable();
    if (parsed.chosen.transport == transport_kind::mpi || world.size() > 1) {
      run(parsed.chosen, world, executable);
    } else {
      weft::transport::in_process::run(std::max(parsed.chosen.ranks, 1), [&](weft::transport::endpoint& door) {
        run(parsed.chosen, door, executable);
      });
    }
  } catch (weft::agreed_error const& problem) {
    return usage_error(is_root, problem);
  }
  return 0;
}
