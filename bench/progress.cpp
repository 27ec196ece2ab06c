// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether large messages move while ranks compute: the same 1F1B with boundaries of 16 MiB and passes that keep a core
// busy, once without a call to `context.progress()` and once with one every half millisecond, in turns. Both over the
// planned makespan, which has no time for messages. Not for more ranks than cores: busy passes would take turns.
//
//     mpiexec -n 2 progress

#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/environment.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr double pass_ms = 40.0;
constexpr std::int64_t elements = std::int64_t{1} << 22;  // 16 MiB of float

/// Passes of `pass_ms` at full load, in kernels of half a millisecond.
struct busy_stage {
  using views = weft::boundary_views<Kokkos::HostSpace>;
  bool polls = false;

  template <class Context>
  void compute(Context& where) const {
    auto const begin = clock_type::now();
    auto const ms = [&] { return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count(); };
    for (double kernel = 0.5; kernel <= pass_ms; kernel += 0.5) {
      while (ms() < kernel) {
      }
      if (polls) where.progress();
    }
  }
  template <class Context>
  void forward(Context& where, views const&, views&) {
    compute(where);
  }
  template <class Context>
  void backward_input(Context& where, views const&, views const&, views&) {
    compute(where);
  }
  template <class Context>
  void backward_weight(Context& where, views const&, views const&) {
    compute(where);
  }
  static weft::boundary boundary(weft::topology::edge const&) {
    return weft::boundary().add(weft::scalar::f32, elements);
  }
  static void prepare(int, weft::schedule::slot_counts const&) {}
};

weft::transport::mpi* world = nullptr;

void progress(benchmark::State& state, char const* schedule) {
  constexpr int micro_batches = 8;
  auto const program = weft::schedule::make_program(schedule, world->size(), micro_batches,
                                                    {.tied = weft::schedule::tied_stages::none, .optimizer = false});
  busy_stage stage;
  weft::pipeline<busy_stage, Kokkos::DefaultHostExecutionSpace> engine(program.view(), *world, stage);
  double const planned = weft::schedule::cost(program.view()).makespan * pass_ms * 1e-3;
  auto const step = [&](bool polls) {
    stage.polls = polls;
    MPI_Barrier(world->communicator());
    auto const begin = clock_type::now();
    engine.step();
    double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world->communicator());
    return seconds / planned;
  };
  step(true);
  std::vector<double> without, with, ratio;
  for (auto _ : state) {
    without.push_back(step(false));
    with.push_back(step(true));
    ratio.push_back(with.back() / without.back());
    state.SetIterationTime(with.back() * planned);
  }
  bench::add_quartiles(state, "without_over_plan", without);
  bench::add_quartiles(state, "with_over_plan", with);
  bench::add_quartiles(state, "ratio", ratio);
}

}  // namespace

BENCHMARK_CAPTURE(progress, one_f_one_b, "1f1b")->Iterations(7)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(progress, zero_bubble_h1, "zb-h1")->Iterations(7)->UseManualTime()->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  weft::transport::mpi door(MPI_COMM_WORLD);
  world = &door;
  bench::add_machine_facts();
  benchmark::AddCustomContext("ranks", std::to_string(door.size()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::silent_reporter silent;
  benchmark::RunSpecifiedBenchmarks(door.rank() == 0 ? nullptr : &silent);
  return 0;
}
