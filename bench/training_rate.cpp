// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How much of the machine's matrix-product rate a training of the preset `small` reaches. In turns within one run: a
// step of the trainer, and plain GEMMs of the model's largest shape on all ranks at once. Columns: tokens/s, GFLOP/s of
// the step (forward and backward, 3 x forward), GFLOP/s of the GEMMs, and their ratio.
//
//     mpiexec -n 2 training_rate

#include "machine.hpp"

#include <weft/model/gpt2.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/train/trainer.hpp>
#include <weft/transport/environment.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace {

using model = weft::model::gpt2<weft::model::small>;
using clock_type = std::chrono::steady_clock;

weft::transport::endpoint* world = nullptr;

constexpr int micro_batches = 4;
constexpr int sequences = 8;
constexpr int length = 256;
constexpr weft::model::extents largest{sequences / micro_batches, length};

double longest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// GFLOP/s of all ranks together: [tokens of a micro-batch, width] x [width, 4 width].
double gemm_rate() {
  constexpr std::int64_t rows = largest.tokens();
  constexpr std::int64_t inner = model::size.width;
  constexpr std::int64_t columns = 4 * inner;
  static std::vector<float> a(static_cast<std::size_t>(rows * inner), 1.0F);
  static std::vector<float> b(static_cast<std::size_t>(inner * columns), 1.0F);
  static std::vector<float> c(static_cast<std::size_t>(rows * columns), 0.0F);
  constexpr int repetitions = 100;
  MPI_Barrier(MPI_COMM_WORLD);
  auto const begin = clock_type::now();
  for (int repetition = 0; repetition < repetitions; ++repetition)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows), static_cast<int>(columns),
                static_cast<int>(inner), 1.0F, a.data(), static_cast<int>(inner), b.data(), static_cast<int>(columns),
                0.0F, c.data(), static_cast<int>(columns));
  double const seconds = longest(std::chrono::duration<double>(clock_type::now() - begin).count());
  return 2e-9 * static_cast<double>(rows * inner * columns) * repetitions * world->size() / seconds;
}

void training_rate(benchmark::State& state, char const* schedule) {
  weft::train::trainer_options options;
  options.extents = largest;
  weft::train::trainer<model> trainer(weft::schedule::make_program(schedule, world->size(), micro_batches), *world,
                                      options);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences) * length);
  for (std::size_t index = 0; index < tokens.size(); ++index)
    tokens[index] = static_cast<std::int32_t>(index * 7 % 256);
  weft::model::token_batch batch;
  batch.inputs = tokens.data();
  batch.targets = tokens.data();
  batch.sequences = sequences;
  batch.sequence_length = length;
  batch.micro_batches = micro_batches;
  batch.counted_tokens = sequences * length;
  double flops = 0.0;
  for (int layer = 0; layer < model::layer_count; ++layer)
    flops += 3.0 * micro_batches * static_cast<double>(model::flops(layer, largest));
  trainer.step(batch);
  std::vector<double> rate, reached, possible, share;
  for (auto _ : state) {
    MPI_Barrier(MPI_COMM_WORLD);
    auto const begin = clock_type::now();
    trainer.step(batch);
    double const seconds = longest(std::chrono::duration<double>(clock_type::now() - begin).count());
    double const gemm = gemm_rate();
    rate.push_back(sequences * length / seconds);
    reached.push_back(1e-9 * flops / seconds);
    possible.push_back(gemm);
    share.push_back(reached.back() / gemm);
    state.SetIterationTime(seconds);
  }
  bench::add_quartiles(state, "tokens/s", rate);
  bench::add_quartiles(state, "step_GFLOPs", reached);
  bench::add_quartiles(state, "gemm_GFLOPs", possible);
  bench::add_quartiles(state, "share", share);
}

}  // namespace

BENCHMARK_CAPTURE(training_rate, one_f_one_b, "1f1b")->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  weft::environment env(argc, argv);
  world = &env.world();
  bench::add_machine_facts();
  benchmark::AddCustomContext("ranks", std::to_string(world->size()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::silent_reporter silent;
  benchmark::RunSpecifiedBenchmarks(world->rank() == 0 ? nullptr : &silent);
  return 0;
}
