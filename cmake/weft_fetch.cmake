# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Used only with weft_FETCH_DEPENDENCIES, and only for what find_package did not find.
include(FetchContent)

macro(weft_fetch_kokkos)
  set(Kokkos_ENABLE_SERIAL ON CACHE BOOL "Kokkos's Serial backend")
  FetchContent_Declare(Kokkos GIT_REPOSITORY https://github.com/kokkos/kokkos.git GIT_TAG 4.6.01 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(Kokkos)
endmacro()

macro(weft_fetch_doctest)
  set(DOCTEST_WITH_TESTS OFF CACHE BOOL "doctest's own tests")
  FetchContent_Declare(doctest GIT_REPOSITORY https://github.com/doctest/doctest.git GIT_TAG v2.4.11 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(doctest)
endmacro()
