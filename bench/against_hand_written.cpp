// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// weft's engine beside hand-written MPI loops, 1F1B and ZB-H1, in one run and in turns, with stages that sleep: the
// same sleeps, the same message sizes, the same way to wait. Three columns: hand-written, weft, and their ratio (weft /
// hand), each with quartiles over the repetitions; and both over the planned makespan.
//
// Passes of 10 ms: F 10, I 10, W 10.
//
//     mpiexec -n 4 against_hand_written

#include "hand_written_loop.hpp"
#include "machine.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/environment.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr int pass_ms = 10;
constexpr std::int64_t elements = 16384;  // of a boundary

void work(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

struct sleeping_stage {
  using views = weft::boundary_views<Kokkos::HostSpace>;
  int forward_ms;
  int input_ms;
  int weight_ms;
  std::int64_t width;

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
  weft::boundary boundary(weft::topology::edge const&) const { return weft::boundary().add(weft::scalar::f32, width); }
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

/// Plays weft's engine and `hand.step()` in turns; both columns, their ratio, and both over the planned makespan.
template <class Hand>
void compare(benchmark::State& state, char const* schedule, int micro_batches, double planned, Hand&& hand) {
  int const ranks = world->size();
  sleeping_stage stage{pass_ms, pass_ms, pass_ms, elements};
  auto const program = weft::schedule::make_program(schedule, ranks, micro_batches,
                                                    {.tied = weft::schedule::tied_stages::none, .optimizer = false});
  weft::pipeline<sleeping_stage, Kokkos::DefaultHostExecutionSpace> engine(program.view(), *world, stage);
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

bool waits_yield() { return world->size() > static_cast<int>(std::thread::hardware_concurrency()); }

/// The hand-written backward sleeps I and W in turn, as weft's B does.
void one_f_one_b(benchmark::State& state) {
  int const micro_batches = static_cast<int>(state.range(0));
  bench::hand_written_1f1b hand(
      world->communicator(), micro_batches, elements * sizeof(float), waits_yield(), [] { work(pass_ms); },
      [] {
        work(pass_ms);
        work(pass_ms);
      });
  double const planned = (micro_batches + world->size() - 1) * 3e-3 * pass_ms;
  compare(state, "1f1b", micro_batches, planned, hand);
}

void zero_bubble_h1(benchmark::State& state) {
  int const micro_batches = static_cast<int>(state.range(0));
  auto const pass = [] { work(pass_ms); };
  bench::hand_written_zb_h1 hand(world->communicator(), micro_batches, elements * sizeof(float), waits_yield(), pass,
                                 pass, pass);
  double const idle = weft::schedule::zero_bubble_h1::idle(world->size(), micro_batches, 1.0, 1.0, 1.0);
  compare(state, "zb-h1", micro_batches, (3.0 * micro_batches + idle) * 1e-3 * pass_ms, hand);
}

/// Two of weft's schedules in turns: how much faster ZB-H1 is, and how much the plans say.
void zero_bubble_h1_against_1f1b(benchmark::State& state) {
  int const micro_batches = static_cast<int>(state.range(0));
  auto const options = weft::schedule::lower_options{.tied = weft::schedule::tied_stages::none, .optimizer = false};
  auto const before = weft::schedule::make_program("1f1b", world->size(), micro_batches, options);
  auto const after = weft::schedule::make_program("zb-h1", world->size(), micro_batches, options);
  sleeping_stage stage{pass_ms, pass_ms, pass_ms, elements};
  using engine = weft::pipeline<sleeping_stage, Kokkos::DefaultHostExecutionSpace>;
  engine slow(before.view(), *world, stage);
  engine fast(after.view(), *world, stage);
  slow.step();
  fast.step();
  std::vector<double> slow_s, fast_s, speedup;
  for (auto _ : state) {
    slow_s.push_back(measure(world->communicator(), [&] { slow.step(); }));
    fast_s.push_back(measure(world->communicator(), [&] { fast.step(); }));
    speedup.push_back(slow_s.back() / fast_s.back());
    state.SetIterationTime(fast_s.back());
  }
  bench::add_quartiles(state, "1f1b_s", slow_s);
  bench::add_quartiles(state, "zb_h1_s", fast_s);
  bench::add_quartiles(state, "speedup", speedup);
  state.counters["planned_speedup"] =
      weft::schedule::cost(before.view()).makespan / weft::schedule::cost(after.view()).makespan;
}

}  // namespace

BENCHMARK(one_f_one_b)->Arg(8)->Arg(16)->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(zero_bubble_h1)->Arg(8)->Arg(16)->Iterations(9)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(zero_bubble_h1_against_1f1b)->Arg(8)->Iterations(9)->UseManualTime()->Unit(benchmark::kMillisecond);

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
