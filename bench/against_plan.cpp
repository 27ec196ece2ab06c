// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every schedule of the registry, played by stages that sleep 10 ms per pass (F, I and W of one stage), over the
// makespan that `cost` plans for it: what waits, posts and the engine add. Rounds go through all schedules in turn, so
// that a disturbance of the machine falls on all of them; median and quartiles over the rounds.
//
//     mpiexec -n 4 against_plan [ROUNDS [MICRO_BATCHES [SCHEDULE...]]]

#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/transport/environment.hpp>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr auto pass = std::chrono::milliseconds(10);
constexpr std::int64_t elements = 16384;  // of a boundary

struct sleeping_stage {
  using views = weft::boundary_views<Kokkos::HostSpace>;
  template <class Context>
  void forward(Context&, views const&, views&) {
    std::this_thread::sleep_for(pass);
  }
  template <class Context>
  void backward_input(Context&, views const&, views const&, views&) {
    std::this_thread::sleep_for(pass);
  }
  template <class Context>
  void backward_weight(Context&, views const&, views const&) {
    std::this_thread::sleep_for(pass);
  }
  static void step(int) {}  // asynchronous tables have their own
  static weft::boundary boundary(weft::topology::edge const&) {
    return weft::boundary().add(weft::scalar::f32, elements);
  }
  static void prepare(int, weft::schedule::slot_counts const&) {}
};

/// One schedule, ready to run.
struct contender {
  contender(weft::schedule::schedule_entry const& entry, weft::transport::mpi& door, int micro_batches)
      : name(entry.name),
        program(weft::schedule::make_program(
            entry.name, door.size(), micro_batches,
            {.tied = weft::schedule::tied_stages::none, .optimizer = false, .reduce_over_copies = false})),
        planned(weft::schedule::cost(program.view()).makespan * std::chrono::duration<double>(pass).count()),
        engine(program.view(), door, stage) {}

  std::string name;
  weft::schedule::program program;
  double planned;
  sleeping_stage stage;
  weft::pipeline<sleeping_stage, Kokkos::DefaultHostExecutionSpace> engine;
  std::vector<double> over_plan;
};

void run(weft::transport::mpi& door, int rounds, int micro_batches, std::vector<std::string> const& names) {
  std::vector<std::unique_ptr<contender>> all;
  for (auto const& entry : weft::schedule::schedules) {
    bool wanted = names.empty();
    for (auto const& name : names) wanted = wanted || weft::schedule::find_schedule(name) == &entry;
    if (!wanted) continue;
    if (auto const rule = entry.check({}, door.size(), micro_batches); rule.legal())
      all.push_back(std::make_unique<contender>(entry, door, micro_batches));
    else if (door.rank() == 0)
      std::printf("left out: %s\n", explain(rule, entry.name).c_str());
  }
  for (int round = 0; round <= rounds; ++round)
    for (auto& each : all) {
      MPI_Barrier(door.communicator());
      auto const begin = clock_type::now();
      each->engine.step();
      double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
      MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, door.communicator());
      if (round > 0) each->over_plan.push_back(seconds / each->planned);  // the first warms up
    }
  if (door.rank() != 0) return;
  std::printf("%d ranks, %d micro-batches, %d rounds, passes of %d ms\n", door.size(), micro_batches, rounds,
              static_cast<int>(pass.count()));
  std::printf("%-24s %10s %10s %10s %10s\n", "schedule", "planned ms", "over plan", "quartile 1", "quartile 3");
  double worst = 0.0;
  for (auto const& each : all) {
    double const median = bench::quantile(each->over_plan, 0.5);
    worst = median > worst ? median : worst;
    std::printf("%-24s %10.0f %10.4f %10.4f %10.4f\n", each->name.c_str(), each->planned * 1e3, median,
                bench::quantile(each->over_plan, 0.25), bench::quantile(each->over_plan, 0.75));
  }
  std::printf("%-24s %10s %10.4f\n", "the worst median", "", worst);
}

}  // namespace

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL);  // a pass takes 10 ms, not up to 50 us more
#endif
  weft::transport::mpi door(MPI_COMM_WORLD);
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  int const micro_batches = argc > 2 ? std::atoi(argv[2]) : 8;
  if (rounds < 1 || micro_batches < 1) {
    if (door.rank() == 0) std::fputs("against_plan [ROUNDS [MICRO_BATCHES [SCHEDULE...]]]: 1 or more\n", stderr);
    return 2;
  }
  run(door, rounds, micro_batches, {argv + (argc > 3 ? 3 : argc), argv + argc});
  return 0;
}
