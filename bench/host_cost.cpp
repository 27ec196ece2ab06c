// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What weft itself costs per scheduled action (a pass or a post), with empty stages and a transport that takes no time:
// nothing of MPI, nothing of waiting. Also counts allocations of the steady state, of which there must be none.
//
//     host_cost                        figures by Google Benchmark
//     host_cost --steps N [SCHEDULE]   plays N steps and prints the actions played: what bench/count_instructions.sh
//                                      runs under callgrind

#include "echo_endpoint.hpp"
#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace {
std::atomic<long> allocations{0};
}

// Not inlined: g++ would otherwise see malloc where it expects operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr int ranks = 4;
constexpr int rank = 1;
constexpr int micro_batches = 64;

struct setting {
  explicit setting(char const* name)
      : program(weft::schedule::make_program(name, ranks, micro_batches,
                                             {.tied = weft::schedule::tied_stages::none, .optimizer = false})),
        door(program.view(), rank, bench::empty_stage::boundary({})),
        engine(program.view(), door, stage) {}

  weft::schedule::program program;
  bench::echo_endpoint door;
  bench::empty_stage stage;
  weft::pipeline<bench::empty_stage, Kokkos::DefaultHostExecutionSpace> engine;
};

void host_cost(benchmark::State& state, char const* name) {
  setting here(name);
  here.engine.step();
  long const before = allocations.load();
  long steps = 0;
  for (auto _ : state) {
    here.engine.step();
    ++steps;
  }
  auto const actions = static_cast<double>(here.engine.instructions().size());
  state.counters["allocations"] = static_cast<double>(allocations.load() - before);
  state.counters["actions"] = actions;
  state.counters["s/action"] = benchmark::Counter(actions * static_cast<double>(steps),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK_CAPTURE(host_cost, gpipe, "gpipe");
BENCHMARK_CAPTURE(host_cost, one_f_one_b, "1f1b");
BENCHMARK_CAPTURE(host_cost, interleaved_1f1b, "interleaved-1f1b");
BENCHMARK_CAPTURE(host_cost, zero_bubble_h1, "zb-h1");
BENCHMARK_CAPTURE(host_cost, zero_bubble_v, "zb-v");
BENCHMARK_CAPTURE(host_cost, chimera, "chimera");
BENCHMARK_CAPTURE(host_cost, pipedream, "pipedream");

int main(int argc, char** argv) {
  Kokkos::initialize();
  int status = 0;
  if (argc >= 3 && std::strcmp(argv[1], "--steps") == 0) {
    setting here(argc > 3 ? argv[3] : "1f1b");
    here.engine.step();
    long const before = allocations.load();
    int const steps = std::atoi(argv[2]);
    for (int step = 0; step < steps; ++step) here.engine.step();
    long const made = allocations.load() - before;
    std::printf("actions %zu allocations %ld\n", here.engine.instructions().size() * static_cast<std::size_t>(steps),
                made);
    status = made == 0 ? 0 : 1;
  } else {
    bench::add_machine_facts();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
      status = 2;
    else
      benchmark::RunSpecifiedBenchmarks();
  }
  Kokkos::finalize();
  return status;
}
