#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# examples/mini_llm/run.sh [option of mini_llm]...
#
# Installs what is missing (says what, before), builds mini_llm, trains it on two ranks and prints a sample. A second run
# rebuilds nothing. `run.sh --help` lists the options; the status is 0 only if every rank ended well.
#
#   WEFT_RANKS           how many MPI ranks; default 2
#   WEFT_JOBS            how many compilers at once; default: the number of cores
#   WEFT_CONFIGURE_ARGS  more arguments for cmake
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tools/packages.sh"

stop() {
  echo "run.sh: failed: $1"
  exit "${2:-1}"
}

jobs=${WEFT_JOBS:-$(nproc)}
ranks=${WEFT_RANKS:-2}
[[ $ranks =~ ^[1-9][0-9]*$ ]] || stop "WEFT_RANKS is '$ranks'; give a number of ranks, 1 or more"

weft_install_packages build examples || stop "packages are missing"
weft_pick_compiler
# Tests and benchmarks may lack their packages; they stay as they are where they have been configured before. Paths in
# the options are the caller's, so only cmake runs in the project's folder.
known=()
[ -e "$root/build/build.ninja" ] || known=(-Dweft_BUILD_TESTS=OFF -Dweft_BUILD_BENCH=OFF)
# shellcheck disable=SC2086
(cd "$root" && cmake --preset default -Dweft_BUILD_EXAMPLES=ON "${known[@]}" ${WEFT_CONFIGURE_ARGS:-}) ||
  stop "cmake could not configure; its message is above"
cmake --build "$root/build" --target mini_llm --parallel "$jobs" || stop "the build failed; the compiler's message is above"

# The launcher of the MPI that mini_llm was built with. One thread per rank, and none of them pinned to the first core.
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' "$root/build/CMakeCache.txt")
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PROC_BIND=${OMP_PROC_BIND:-false}
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
flags=()
if "$mpiexec" --version 2>&1 | grep -qE 'Open MPI|OpenRTE|PRRTE|prte'; then
  flags=(--oversubscribe)
  [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
fi

status=0
"${mpiexec:-mpiexec}" "${flags[@]}" -n "$ranks" "$root/build/bin/mini_llm" "$@" || status=$?
if [ "$status" -eq 0 ]; then
  echo "run.sh: done: $ranks rank(s) ended well"
  exit 0
fi

# mini_llm itself ends with 0, 1 or 2. What lies above is a signal: MPICH's launcher passes its number on, others and
# the shell add 128.
signal=$status
[ "$signal" -le 128 ] || signal=$((signal - 128))
if [ "$signal" -gt 3 ] && [ "$signal" -lt 32 ] && name=$(kill -l "$signal" 2>/dev/null); then
  case $name in
    KILL) hint="another process did it, often the kernel for want of memory ('dmesg | tail' says so); a smaller --preset or --batch needs less" ;;
    TERM) hint="somebody asked it to stop; --resume goes on from the last checkpoint" ;;
    SEGV | BUS | ABRT | FPE | ILL) hint="this is a fault of the program; please report it with the lines above" ;;
    *) hint="the lines above may say more" ;;
  esac
  stop "a rank was ended by signal $signal ($name), exit status $status: $hint" "$status"
fi
stop "mini_llm ended with exit status $status; its message is above" "$status"
