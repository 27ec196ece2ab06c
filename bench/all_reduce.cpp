// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// weft's all-reduces beside the MPI library's, in one run and in turns: sums of floats in host memory, 8 B to 64 MiB,
// the longest time over ranks. Columns: mpi, weft and their ratio (weft / mpi), medians with quartiles over the
// repetitions.
//
//     mpiexec -n 2 all_reduce                     beside MPI_Allreduce
//     mpiexec -n 4 all_reduce                     more ranks than cores: beside MPI_Iallreduce, see below
//     mpiexec -n 4 all_reduce --table=FILE.md     also writes the figures as a table
//     mpiexec -n 4 all_reduce --quick             fewer repetitions, for a machine that is busy with other things
//
// More ranks than cores, as weft itself counts them: MPI_Allreduce would spin, milliseconds a call, so MPI_Iallreduce
// takes its place, waited for as weft waits, with test and yield.

#include "machine.hpp"

#include <weft/collective/all_reduce.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/running_all_reduce.hpp>

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

weft::transport::mpi* world = nullptr;
bool more_ranks_than_cores = false;
bool is_quick = false;

void finish(MPI_Request request) {
  for (int is_done = 0;;) {
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) return;
    if (more_ranks_than_cores) sched_yield();
  }
}

void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(world->communicator(), &request);
  finish(request);
}

double longest_over_ranks(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world->communicator(), &request);
  finish(request);
  return seconds;
}

/// Seconds of one call of several, the longest over ranks.
template <class Call>
double measure(int calls, Call&& call) {
  meet();
  auto const begin = clock_type::now();
  for (int each = 0; each < calls; ++each) call();
  return longest_over_ranks(std::chrono::duration<double>(clock_type::now() - begin).count()) / calls;
}

struct row {
  std::vector<double> mpi_s;
  std::vector<double> weft_s;
  std::vector<double> ratio;
};
std::map<std::int64_t, std::map<std::string, row>> table;  // bytes, policy

void all_reduce(benchmark::State& state, char const* policy) {
  std::int64_t const bytes = state.range(0);
  std::int64_t const elements = bytes / static_cast<std::int64_t>(sizeof(float));
  int const calls = is_quick ? (bytes <= 4096 ? 10 : 1) : bytes <= 4096 ? 100 : bytes <= 262144 ? 10 : 1;
  std::vector<float> mine(static_cast<std::size_t>(elements), world->rank() % 2 == 0 ? 1.0F : -1.0F);
  weft::transport::running_all_reduce<float> running(*world, weft::collective::all_reduce_choice(policy), elements,
                                                     weft::schedule::running_tag(0));
  auto const by_weft = [&] {
    running.start(mine.data());
    running.wait(300.0);
  };
  auto const by_mpi = [&] {
    if (more_ranks_than_cores) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM, world->communicator(),
                     &request);
      finish(request);
    } else {
      MPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM, world->communicator());
    }
  };
  row& found = table[bytes][policy];
  found = {};
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    measure(calls, by_weft);
    measure(calls, by_mpi);
  }
  bool weft_first = false;
  for (auto _ : state) {
    double weft_s = 0.0;
    if (weft_first) weft_s = measure(calls, by_weft);
    double const mpi_s = measure(calls, by_mpi);
    if (!weft_first) weft_s = measure(calls, by_weft);
    weft_first = !weft_first;
    found.mpi_s.push_back(mpi_s);
    found.weft_s.push_back(weft_s);
    found.ratio.push_back(weft_s / mpi_s);
    state.SetIterationTime(weft_s);
  }
  bench::add_quartiles(state, "mpi_s", found.mpi_s);
  bench::add_quartiles(state, "weft_s", found.weft_s);
  bench::add_quartiles(state, "ratio", found.ratio);
}

std::string size_in_words(std::int64_t bytes) {
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string in_microseconds(std::vector<double> const& seconds) {
  auto const words = [&](double fraction) {
    double const microseconds = bench::quantile(seconds, fraction) * 1e6;
    char text[32];
    std::snprintf(text, sizeof text, microseconds < 100.0 ? "%.1f" : "%.0f", microseconds);
    return std::string(text);
  };
  return words(0.5) + " (" + words(0.25) + " to " + words(0.75) + ")";
}

/// Microseconds: median (quartiles); the ratio is the median of the ratios of neighbouring measurements.
void write_table(char const* file) {
  std::ofstream out(file);
  out << "| size | policy | MPI_" << (more_ranks_than_cores ? "Iallreduce" : "Allreduce")
      << ", us | weft, us | weft / MPI |\n|---|---|---|---|---|\n";
  for (auto const& [bytes, policies] : table)
    for (auto const& [policy, figures] : policies) {
      char ratio[32];
      std::snprintf(ratio, sizeof ratio, "%.2f (%.2f to %.2f)", bench::quantile(figures.ratio, 0.5),
                    bench::quantile(figures.ratio, 0.25), bench::quantile(figures.ratio, 0.75));
      out << "| " << size_in_words(bytes) << " | " << policy << " | " << in_microseconds(figures.mpi_s) << " | "
          << in_microseconds(figures.weft_s) << " | " << ratio << " |\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    weft::transport::mpi door(MPI_COMM_WORLD);
    world = &door;
    more_ranks_than_cores = door.is_crowded();
    char const* table_file = nullptr;
    int kept = 1;
    for (int index = 1; index < argc; ++index) {
      std::string_view const argument = argv[index];
      if (argument.substr(0, 8) == "--table=")
        table_file = argv[index] + 8;
      else if (argument == "--quick")
        is_quick = true;
      else
        argv[kept++] = argv[index];
    }
    argc = kept;
    for (char const* const policy : weft::collective::all_reduce_names)
      for (std::int64_t bytes : {8, 64, 512, 4096, 32768, 262144, 1 << 21, 1 << 24, 1 << 26}) {
        int const repetitions = is_quick ? 11 : bytes <= 1 << 21 ? 31 : 15;
        benchmark::RegisterBenchmark(("all_reduce/" + std::string(policy)).c_str(), all_reduce, policy)
            ->Arg(bytes)
            ->Iterations(repetitions)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    bench::add_machine_facts();
    benchmark::AddCustomContext("ranks", std::to_string(door.size()));
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
      status = 2;
    } else {
      bench::silent_reporter silent;
      benchmark::RunSpecifiedBenchmarks(door.rank() == 0 ? nullptr : &silent);
      if (door.rank() == 0 && table_file != nullptr) write_table(table_file);
    }
  }
  MPI_Finalize();
  return status;
}
