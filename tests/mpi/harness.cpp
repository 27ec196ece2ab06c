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
  for (char const* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    char const* const value = std::getenv(name);
    REQUIRE(value != nullptr);
    CHECK(std::string(value) == "1");
  }
}

TEST_CASE("a rank that is told to fails") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char const* const failing = std::getenv("WEFT_TEST_FAILING_RANK");
  CHECK_FALSE((failing != nullptr && std::stoi(failing) == rank));
}
