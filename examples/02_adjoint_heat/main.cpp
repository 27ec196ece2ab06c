// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An HPC code without a language model: a heated rod, cut in *time* over the ranks, and by the adjoint method the
// derivative of a misfit with respect to the heater's power in every time step. A micro-batch is one experiment; a
// stage is a time interval, and heat_stage.hpp is all that weft asks of it.
//
//     mpiexec -n 4 adjoint_heat        compares with one rank alone, bit for bit, and with finite differences

#include "heat_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/plan.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int experiments = 8;

template <class Schedule>
using plan =
    weft::plan<Schedule, weft::pipeline_ranks<weft::dynamic>, weft::micro_batches<experiments>, weft::no_optimizer>;

struct result {
  double misfit = 0.0;
  std::vector<double> gradient = std::vector<double>(rod::time_steps);
};

/// All experiments, forward and back, over the ranks of `door`. Collective.
template <class Schedule = weft::schedule::one_f_one_b>
result solve(weft::transport::endpoint& door, int changed_step = 0, double change = 0.0) {
  auto const program = plan<Schedule>::program(door.size());
  heat_stage stage(door.size(), experiments, changed_step, change);
  weft::pipeline<heat_stage> pipeline(program.view(), door, stage);
  pipeline.step();
  // Each rank has the derivatives of its own interval, and the last one the misfits: adding zeros changes no bit.
  result found;
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), stage.gradient);
  for (std::size_t t = 0; t < found.gradient.size(); ++t) found.gradient[t] = host(t);
  for (double const misfit : stage.misfit) found.misfit += misfit;
  weft::transport::all_reduce_sum(door, found.gradient.data(), found.gradient.size());
  weft::transport::all_reduce_sum(door, &found.misfit, 1);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  auto& world = env.world();
  result const parallel = solve(world);
  result const split = solve<weft::schedule::zero_bubble_h1>(world);  // the powers' gradients where they fill a wait
  result serial;
  double worst = 0.0;
  weft::transport::in_process::run(1, [&](weft::transport::endpoint& alone) {
    serial = solve(alone);
    for (int const t : {0, 7, 23, 47}) {
      double const h = 1e-6;
      double const difference = (solve(alone, t, h).misfit - solve(alone, t, -h).misfit) / (2.0 * h);
      double const adjoint = serial.gradient[static_cast<std::size_t>(t)];
      worst = std::fmax(worst, std::fabs(difference - adjoint) / std::fabs(adjoint));
    }
  });
  bool same = true;
  for (result const* each : {&parallel, &split})
    same = same && each->gradient == serial.gradient && each->misfit == serial.misfit;
  if (world.rank() == 0) {
    std::printf("misfit %.12g over %d experiments, %d time steps on %d ranks\n", parallel.misfit, experiments,
                rod::time_steps, world.size());
    std::printf("against one rank: %s; against finite differences: %.1e relative\n", same ? "equal bits" : "DIFFERENT",
                worst);
  }
  return same && worst < 1e-6 ? 0 : 1;
}
