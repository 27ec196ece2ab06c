#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/modern.sh [mpich|openmpi] [argument of ctest]...
#
# The suite once more with what tools/modern_root.sh gives: g++ 16, Kokkos 5 whose default space is OpenMP, and MPICH 5
# (the default) or Open MPI 6. Warnings are errors. All of it with one thread per rank, as everywhere; then the tests that
# launch kernels with two threads per rank, where the bits must be the same; then ranks of Kokkos 3.4 and of Kokkos 5 in one
# mpiexec.
#
# Exit: 0 if everything passed, 75 if the root cannot be had, with the reason.
# Environment: WEFT_JOBS (how many compilers and tests at once), and what tools/modern_root.sh says.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  cd "$(dirname "$0")/.."
  mpi=mpich
  case ${1:-} in mpich | openmpi) mpi=$1 && shift ;; esac
  # Kokkos 3.4 as Debian 12 has it, if it is here: with MPICH its ranks meet those of Kokkos 5 in one world.
  older=${WEFT_MODERN_OUT:-build/modern/out}/kokkos34
  rm -rf "$older"
  for library in /usr/lib/*/libtrilinos_kokkoscore.so; do
    if [ -e "$library" ] && [ -e /usr/include/trilinos/Kokkos_Core.hpp ]; then
      mkdir -p "$older"
      cp -r /usr/include/trilinos "$older/include"
      cp "$(readlink -f "$library")" "$older/"
    fi
  done
  exec tools/modern_root.sh run env "WEFT_JOBS=${WEFT_JOBS:-$(nproc)}" tests/modern.sh --inside "$mpi" "$@"
fi

mpi=$2
shift 2
build=/out/$mpi
begin=$SECONDS
stage() { printf '[modern] %s (%d s)\n' "$1" $((SECONDS - begin)); }

configure() { # configure <threads per rank>: what changes with them is how tests are started; nothing is compiled again
  cmake --preset ci -B "$build" -DCMAKE_CXX_FLAGS_DEBUG=-O1 -Dweft_BUILD_BENCH=OFF -Dweft_TEST_FULL_HEADERS=OFF \
    "-Dweft_TEST_THREADS=$1" \
    "-DMPI_CXX_COMPILER=mpicxx.$mpi" "-DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.$mpi" >"$build.log" 2>&1 || {
    cat "$build.log"
    exit 1
  }
}
check() { ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$WEFT_JOBS" "$@"; }

older_kokkos() { # ranks with Kokkos 3.4 (Serial) and Kokkos 5 (OpenMP) in one world: tests/mixed/two_builds.cpp
  local from=/out/kokkos34 source threads
  for source in tests/support/mpi_main.cpp tests/mixed/two_builds.cpp; do
    ccache "mpicxx.$mpi" -std=c++20 -O0 -ffp-contract=off -Iinclude -Itests -isystem "$from/include" -DWEFT_TEST_KOKKOS \
      -DWEFT_MIXED_LEFT '-DWEFT_MIXED_BUILD="Kokkos 3.4"' -c "$source" -o "$from/$(basename "$source" .cpp).o" || return 1
  done
  "mpicxx.$mpi" "$from"/*.o "$from"/libtrilinos_kokkoscore.so.* "-Wl,-rpath,$from" -lopenblas -o "$from/two_builds" || return 1
  for threads in 1 2; do
    env "OMP_NUM_THREADS=$threads" OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 timeout 300 \
      "mpiexec.$mpi" -n 2 "$from/two_builds" : -n 2 "$build/bin/mixed_right" || return 1
  done
}

stage "$(g++ --version | head -n 1), Kokkos $(dpkg-query -W -f '${Version}' libkokkos-dev), $mpi $(dpkg-query -W -f '${Version}' "lib$mpi-dev")"
configure 1
cmake --build "$build" --parallel "$WEFT_JOBS"
stage "built; one thread per rank"
status=0
check "$@" || status=1
configure 2
stage "two threads per rank"
check -L '^(memory|mpi|examples)$' "$@" || status=1
if [ -e /out/kokkos34/include ] && [ "$mpi" = mpich ]; then
  stage "ranks with Kokkos 3.4 beside ranks with Kokkos 5"
  older_kokkos || status=1
else
  stage "NOT CHECKED: ranks with Kokkos 3.4 beside ranks with Kokkos 5 (they need MPICH, and libtrilinos-kokkos-dev here)"
fi
stage "done"
exit "$status"
