// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2 3 4
#include <doctest/doctest.h>

#include <mpi.h>

#include <cstdlib>
#include <string>

TEST_CASE("the harness starts one world of the asked size") {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char const* const expected = std::getenv("WEFT_EXPECTED_RANKS");
  REQUIRE(expected != nullptr);
  CHECK(size == std::stoi(expected));

  int sum = 0;
  int const one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size);
}

TEST_CASE("the harness keeps ranks from fighting for cores") {
  char const* const blas_threads = std::getenv("OPENBLAS_NUM_THREADS");
  REQUIRE(blas_threads != nullptr);
  CHECK(std::string(blas_threads) == "1");
  // One, unless the build was told otherwise (weft_TEST_THREADS), and never as many as there are cores by default.
  char const* const threads = std::getenv("OMP_NUM_THREADS");
  char const* const wanted = std::getenv("WEFT_TEST_THREADS");
  REQUIRE(threads != nullptr);
  REQUIRE(wanted != nullptr);
  CHECK(std::string(threads) == wanted);
}

TEST_CASE("a rank that is told to fails") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char const* const failing = std::getenv("WEFT_TEST_FAILING_RANK");
  CHECK_FALSE((failing != nullptr && std::stoi(failing) == rank));
}
