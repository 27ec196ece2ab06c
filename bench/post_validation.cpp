// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the wait for the gradient norm costs, and what is left of it where steps are validated afterwards: stages that
// sleep 10 ms per pass, a few dozen numbers for a norm, and many steps behind each other, since only then does the next
// step's warm-up fill what a wait would leave empty. Three runs of each schedule, in turn: with NORM, with PARTIAL_NORM
// and VALIDATE, and the same with every step found to be wrong, so that every warm-up is played twice.
//
//     mpiexec -n 4 post_validation [MICRO_BATCHES [STEPS [ROUNDS [SCHEDULE...]]]]

#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/train/post_validation.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/run_collective.hpp>

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
constexpr std::size_t numbers = 64;
constexpr double deadline = 60.0;

class sleeping_stage {
 public:
  using views = weft::boundary_views<Kokkos::HostSpace>;

  sleeping_stage(weft::transport::mpi& door, bool is_wrong)
      : door_(door),
        validation_(door, numbers, deadline),
        own_(numbers, 1.0),
        is_wrong_(is_wrong) {}

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
  static void step(int) {}
  static weft::boundary boundary(weft::topology::edge const&) {
    return weft::boundary().add(weft::scalar::f32, elements);
  }
  static void prepare(int, weft::schedule::slot_counts const&) {}

  void norm() { weft::transport::all_reduce_sum(door_, own_.data(), own_.size(), deadline); }

  /// Before the first step that is validated afterwards.
  void begin() { validation_.begin(); }
  void partial_norm() {
    auto& sums = validation_.collect([] {});
    for (double& each : sums) each += 1.0;
    if (validation_.is_last())
      validation_.tell({.norm = sums[0], .redo = is_wrong_ ? 1.0 : 0.0}, [] {});
    else
      validation_.pass_on();
    is_open_ = true;
  }
  bool validate() {
    if (!is_open_) return false;
    bool const is_redo = settle();
    validation_.begin();
    return is_redo;
  }
  bool settle() {
    is_open_ = false;
    bool const is_redo = validation_.hear([] {}).redo > 0.0;
    return is_redo;
  }
  void finish() {
    settle();
    validation_.finish([] {});
  }

 private:
  weft::transport::mpi& door_;
  weft::train::post_validation validation_;
  std::vector<double> own_;
  bool is_wrong_;
  bool is_open_ = false;
};

using engine = weft::pipeline<sleeping_stage, Kokkos::DefaultHostExecutionSpace>;

/// Milliseconds per step of the slowest rank.
double run(weft::transport::mpi& door, weft::schedule::program_view const& program, int steps, bool is_wrong) {
  sleeping_stage stage(door, is_wrong);
  engine plays(program, door, stage);
  MPI_Barrier(door.communicator());
  auto const begin = clock_type::now();
  if (program.work.post_validated) stage.begin();
  for (int step = 0; step < steps; ++step) plays.step();
  if (program.work.post_validated) stage.finish();
  double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, door.communicator());
  return seconds * 1e3 / steps;
}

}  // namespace

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  weft::transport::mpi door(MPI_COMM_WORLD);
  int const micro_batches = argc > 1 ? std::atoi(argv[1]) : 12;
  int const steps = argc > 2 ? std::atoi(argv[2]) : 8;
  int const rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  if (micro_batches < 1 || steps < 1 || rounds < 1) {
    if (door.rank() == 0)
      std::fputs("post_validation [MICRO_BATCHES [STEPS [ROUNDS [SCHEDULE...]]]]: 1 or more\n", stderr);
    return 2;
  }
  std::vector<std::string> names(argv + (argc > 4 ? 4 : argc), argv + argc);
  if (names.empty()) names = {"1f1b", "zb-h1", "zb-h2", "zb-v"};
  if (door.rank() == 0) {
    std::printf("%d ranks, %d micro-batches, %d steps, passes of 10 ms, medians of %d\n", door.size(), micro_batches,
                steps, rounds);
    std::printf("%-12s %10s %10s %10s %10s %14s %14s\n", "schedule", "work ms", "NORM ms", "after ms", "redo ms",
                "idle, NORM", "idle, after");
  }
  for (auto const& name : names) {
    weft::schedule::lower_options options{.tied = weft::schedule::tied_stages::none};
    auto const with_norm = weft::schedule::make_program(name, door.size(), micro_batches, options);
    options.norm = weft::schedule::norm_kind::post_validated;
    auto const validated = weft::schedule::make_program(name, door.size(), micro_batches, options);
    std::vector<double> times[3];
    for (int round = 0; round < rounds; ++round) {
      times[0].push_back(run(door, with_norm.view(), steps, false));
      times[1].push_back(run(door, validated.view(), steps, false));
      times[2].push_back(run(door, validated.view(), steps, true));
    }
    if (door.rank() != 0) continue;
    double const work = 30.0 * micro_batches * with_norm.view().stages() / door.size();
    double const norm = bench::quantile(times[0], 0.5);
    double const after = bench::quantile(times[1], 0.5);
    std::printf("%-12s %10.0f %10.1f %10.1f %10.1f %13.1f%% %13.1f%%\n", name.c_str(), work, norm, after,
                bench::quantile(times[2], 0.5), 100.0 * (1.0 - work / norm), 100.0 * (1.0 - work / after));
  }
  return 0;
}
