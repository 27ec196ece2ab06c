// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The main of every test that runs in one process. Ranks are threads here; Kokkos is up for the whole run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <support/count_cases.hpp>

#ifdef WEFT_TEST_KOKKOS
#include <Kokkos_Core.hpp>
#endif

#include <cstdio>

REGISTER_LISTENER("count_cases", 1, weft_test::count_cases);

int main(int argc, char** argv) {
#ifdef WEFT_TEST_KOKKOS
  Kokkos::ScopeGuard kokkos(argc, argv);
#endif
  doctest::Context context(argc, argv);
  int const result = context.run();
  if (context.shouldExit()) return result;
  if (weft_test::count_cases::ran() == 0) {
    std::fprintf(stderr, "weft test: no test case ran; the filter matches none, or the file holds none\n");
    return 1;
  }
  return result;
}
