// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// weft's engine beside a hand-written MPI 1F1B loop, in one run and in turns, with stages that sleep: the same sleeps,
// the same message sizes, the same way to wait. Three columns: hand-written, weft, and their ratio (weft / hand), each
// with quartiles over the repetitions; and both over the planned makespan.
//
//     mpiexec -n 4 against_hand_written

#include "hand_written_loop.hpp"
#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/environment.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

void work(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

struct sleeping_stage {
  using views = weft::boundary_views<Kokkos::HostSpace>;
  int forward_ms;
  int input_ms;
  int weight_ms;
  std::int64_t elements;

  template <class Context>
  void forward(Context&, views const&, views&) {
    work(forward_ms);
  }
  template <class Context>
  void backward_input(Context&, views const&, views const&, views&) {
    work(input_ms);
  }
  template <class Context>
  void backward_weight(Context&, views const&, views const&) {
    work(weight_ms);
  }
  weft::boundary boundary(weft::topology::edge const&) const {
    return weft::boundary().add(weft::scalar::f32, elements);
  }
  static void prepare(int, weft::schedule::slot_counts const&) {}
};

/// Seconds of one step, the longest over ranks.
template <class Step>
double measure(MPI_Comm communicator, Step&& step) {
  MPI_Barrier(communicator);
  auto const begin = clock_type::now();
  step();
  double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, communicator);
  return seconds;
}

weft::transport::mpi* world = nullptr;

/// 10 ms a pass: F 10, I 10, W 10 (the hand-written backward sleeps I and W in turn, as weft's B does).
void one_f_one_b(benchmark::State& state) {
  int const micro_batches = static_cast<int>(state.range(0));
  int const ranks = world->size();
  constexpr std::int64_t elements = 16384;
  sleeping_stage stage{10, 10, 10, elements};
  auto const program = weft::schedule::make_program("1f1b", ranks, micro_batches,
                                                    {.tied = weft::schedule::tied_stages::none, .optimizer = false});
  weft::pipeline<sleeping_stage, Kokkos::DefaultHostExecutionSpace> engine(program.view(), *world, stage);
  bool const yields = ranks > static_cast<int>(std::thread::hardware_concurrency());
  bench::hand_written_1f1b hand(
      world->communicator(), micro_batches, elements * sizeof(float), yields, [] { work(10); },
      [] {
        work(10);
        work(10);
      });
  double const planned = (micro_batches + ranks - 1) * 0.030;
  std::vector<double> weft_s, hand_s, ratio, weft_over_plan, hand_over_plan;
  engine.step();
  hand.step();
  bool weft_first = false;
  for (auto _ : state) {
    double a = 0.0;
    double b = 0.0;
    auto const play = [&] { a = measure(world->communicator(), [&] { engine.step(); }); };
    if (weft_first) play();
    b = measure(world->communicator(), [&] { hand.step(); });
    if (!weft_first) play();
    weft_first = !weft_first;
    weft_s.push_back(a);
    hand_s.push_back(b);
    ratio.push_back(a / b);
    weft_over_plan.push_back(a / planned);
    hand_over_plan.push_back(b / planned);
    state.SetIterationTime(a);
  }
  bench::add_quartiles(state, "hand_s", hand_s);
  bench::add_quartiles(state, "weft_s", weft_s);
  bench::add_quartiles(state, "ratio", ratio);
  bench::add_quartiles(state, "weft_over_plan", weft_over_plan);
  bench::add_quartiles(state, "hand_over_plan", hand_over_plan);
}

}  // namespace

BENCHMARK(one_f_one_b)->Arg(8)->Arg(16)->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);

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
