// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/pipeline/boundary_view.hpp>

#include <cblas.h>
#include <mpi.h>
#include <Kokkos_Core.hpp>

#include <cstdio>

// Touches each of the three libraries, so that a missing include folder, library or flag shows.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int failed = size == 1 ? 0 : 1;
  Kokkos::initialize(argc, argv);
  {
    weft::boundary layout;
    layout.add(weft::scalar::f32, 4);
    Kokkos::View<float*, Kokkos::HostSpace> memory("consumer::memory", 16);
    weft::boundary_view<Kokkos::HostSpace> boundary(reinterpret_cast<std::byte*>(memory.data()), &layout);
    auto const values = boundary.view<float>(0);
    for (int index = 0; index < 4; ++index) values(index) = static_cast<float>(index);
    if (cblas_sdot(4, values.data(), 1, values.data(), 1) != 14.0F) failed = 1;
  }
  Kokkos::finalize();
  MPI_Finalize();
  if (failed != 0) std::puts("consumer: wrong result");
  return failed;
}
