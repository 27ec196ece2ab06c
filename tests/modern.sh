#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/modern.sh [mpich|openmpi] [argument of ctest]...
#
# The suite once more with what tools/modern_root.sh gives: g++ 16, Kokkos 5 whose default space is OpenMP, and MPICH 5
# (the default) or Open MPI 6. Warnings are errors. All of it with one thread per rank, as everywhere; then the tests that
# launch kernels with two threads per rank, where the bits must be the same.
#
# Exit: 0 if everything passed, 75 if the root cannot be had, with the reason.
# Environment: WEFT_JOBS (how many compilers and tests at once), and what tools/modern_root.sh says.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  cd "$(dirname "$0")/.."
  mpi=mpich
  case ${1:-} in mpich | openmpi) mpi=$1 && shift ;; esac
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

stage "$(g++ --version | head -n 1), Kokkos $(dpkg-query -W -f '${Version}' libkokkos-dev), $mpi $(dpkg-query -W -f '${Version}' "lib$mpi-dev")"
configure 1
cmake --build "$build" --parallel "$WEFT_JOBS"
stage "built; one thread per rank"
status=0
check "$@" || status=1
configure 2
stage "two threads per rank"
check -L '^(unit|mpi|examples)$' "$@" || status=1
stage "done"
exit "$status"
