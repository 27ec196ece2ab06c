// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.hpp"
#include "command_line.hpp"
#include "doors.hpp"
#include "files.hpp"
#include "numbers.hpp"
#include "run.hpp"

#include <weft/transport/agreement.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/in_process.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

namespace {

using namespace mini_llm;

/// Of the file that runs: ranks of two builds would not give equal bits.
std::string digest_of_executable() {
  auto const bytes = read_file("executable", "/proc/self/exe");
  return std::to_string(XXH3_64bits(bytes.data(), bytes.size()));
}

void run(options const& chosen, weft::transport::endpoint& ranks, std::string const& executable) {
  doors by(chosen, ranks);
  weft::transport::endpoint& door = by.outermost();
  switch (chosen.preset) {
    case preset_kind::nano: return run_nano(chosen, door, executable);
    case preset_kind::small: return run_small(chosen, door, executable);
    case preset_kind::gpt2_124m: return run_gpt2_124m(chosen, door, executable);
    case preset_kind::llama_nano: return run_llama_nano(chosen, door, executable);
    case preset_kind::llama_160m: return run_llama_160m(chosen, door, executable);
  }
}

void plan(options const& chosen, int ranks) {
  switch (chosen.preset) {
    case preset_kind::nano: return plan_nano(chosen, ranks);
    case preset_kind::small: return plan_small(chosen, ranks);
    case preset_kind::gpt2_124m: return plan_gpt2_124m(chosen, ranks);
    case preset_kind::llama_nano: return plan_llama_nano(chosen, ranks);
    case preset_kind::llama_160m: return plan_llama_160m(chosen, ranks);
  }
}

}  // namespace

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  auto& world = env.world();
  bool const is_root = world.rank() == 0;
  try {
    command_line parsed;
    std::string executable;
    weft::transport::all_or_none(world, [&] {
      parsed = parse_command_line(argc, argv);
      executable = digest_of_executable();
      if (parsed.proceed()) parsed.chosen.precision = checked_precision(parsed.chosen.precision);
      if (parsed.chosen.transport == transport_kind::in_process && world.size() > 1)
        throw weft::error(threads_in_processes(world.size()));
      if (auto const why = doors_of_threads(parsed.chosen); parsed.proceed() && !why.empty()) throw weft::error(why);
    });
    options const& chosen = parsed.chosen;
    // Before any rank takes another way than the others.
    weft::transport::facts way;
    way.add("what to do", !parsed.proceed() ? "print help" : chosen.plan ? "print the plan" : "train");
    way.add("preset", to_text(chosen.preset));
    way.add("transport", to_text(chosen.transport));
    way.add("door", std::string(to_text(chosen.door)) + ", chunks of " + std::to_string(chosen.chunk_bytes) + " on " +
                        std::to_string(chosen.channels));
    weft::transport::facts build;
    build.add("executable (XXH3)", executable);
    weft::transport::require_agreement(world, way, build, chosen.mixed, "--mixed");

    if (!parsed.proceed()) {
      if (is_root) std::cout << parsed.message;
    } else if (chosen.plan) {
      weft::transport::all_or_none(world, [&] {
        if (is_root) plan(chosen, world.size());
      });
    } else {
      if (chosen.transport == transport_kind::mpi || world.size() > 1) {
        run(chosen, world, executable);
      } else {
        weft::transport::in_process::run(std::max(chosen.ranks, 1),
                                         [&](weft::transport::endpoint& door) { run(chosen, door, executable); });
      }
    }
  } catch (weft::agreed_error const& problem) {
    // What the user can mend before a step is done ends every rank alike, with one message. What happens later leaves
    // `main` as an exception, and weft::environment ends all ranks with it.
    if (is_root) std::fprintf(stderr, "mini_llm: %s\n", problem.what());
    return 2;
  }
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "mini_llm: standard output could not be written; the files in --out are whole\n");
    return 1;
  }
  return 0;
}
