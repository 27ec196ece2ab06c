// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program of the README: a model, a plan that is proved while compiling, a loop. Learns to count.
//
//     mpiexec -n 4 build/bin/train

// [readme]
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

using model = weft::model::gpt2<{.vocabulary = 64, .positions = 32, .width = 64, .heads = 4, .blocks = 6}>;
constexpr weft::model::extents micro_batch{.sequences_per_micro_batch = 2, .sequence_length = 32};

using plan = weft::plan<weft::schedule::one_f_one_b,  // policies, in any order
                        weft::mesh<weft::axis<weft::pipeline_axis, 4>>, weft::micro_batches<8>>;

static_assert(plan::report.peak_activations <= 4);  // known before the job is queued
static_assert(weft::proof<plan, model, micro_batch>::bytes_per_rank <= weft::mib(8));

int main(int argc, char** argv) {
  weft::environment env(argc, argv);  // MPI first, Kokkos second
  weft::trainer<model> trainer(plan{}, env.world(), {.extents = micro_batch});
  for (int step = 0; step < 40; ++step) {
    std::vector<std::int32_t> tokens, next;  // 16 sequences that count in steps of 1
    for (int at = 0; at < 16 * 32; ++at) {
      tokens.push_back((step * 7 + at / 32 * 5 + at % 32) % 64);
      next.push_back((tokens.back() + 1) % 64);
    }
    auto const result = trainer.step({.inputs = tokens.data(),
                                      .targets = next.data(),
                                      .sequences = 16,
                                      .sequence_length = 32,
                                      .micro_batches = plan::micro_batches,
                                      .counted_tokens = 16 * 32});
    if (env.world().rank() == 0 && step % 10 == 9) std::printf("step %d: loss %.4f\n", step + 1, result.loss);
  }
}
// [readme]
