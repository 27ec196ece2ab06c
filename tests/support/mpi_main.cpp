// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The main of every test over MPI. Rules for the cases: all ranks run the same cases in the same order; collectives
/// first, assertions after, so that a failed assertion on one rank leaves no other waiting.
///
/// The exit code is the maximum over ranks. WEFT_EXPECTED_RANKS is what the launcher was asked for: under a launcher of
/// another MPI every process is a world of its own, and would pass.
#define DOCTEST_CONFIG_IMPLEMENT
#include <support/count_cases.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>

REGISTER_LISTENER("count_cases", 1, weft_test::count_cases);

namespace {

int run(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char const* const expected = std::getenv("WEFT_EXPECTED_RANKS");
  if (expected != nullptr && std::atoi(expected) != size) {
    std::fprintf(stderr,
                 "weft test: this world has %d rank(s), WEFT_EXPECTED_RANKS says %s; start it with the mpiexec of the "
                 "MPI it was built with\n",
                 size, expected);
    return 1;
  }

  doctest::Context context(argc, argv);
  if (rank != 0) context.setOption("minimal", true);
  int result = context.run();
  if (result == 0 && !context.shouldExit() && weft_test::count_cases::ran() == 0) {
    std::fprintf(stderr, "weft test: no test case ran on rank %d; the filter matches none, or the file holds none\n",
                 rank);
    result = 1;
  }
  int worst = result;
  MPI_Allreduce(&result, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (result != 0) std::fprintf(stderr, "weft test: rank %d of %d failed\n", rank, size);
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  Kokkos::initialize(argc, argv);
  int const result = run(argc, argv);
  Kokkos::finalize();
  MPI_Finalize();
  return result;
}
