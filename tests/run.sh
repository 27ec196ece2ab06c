#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/run.sh [argument of ctest]...
#
# Installs what is missing (says what, before), builds, runs every test. Ends with "tests/run.sh: N passed, N failed"
# and a status that is 0 only if none failed. A second run rebuilds nothing.
#
#   WEFT_JOBS            how many compilers and tests at once; default: the number of cores
#   WEFT_CONFIGURE_ARGS  more arguments for cmake
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/packages.sh

stop() {
  echo "tests/run.sh: 0 passed, 1 failed ($1)"
  exit 1
}

jobs=${WEFT_JOBS:-$(nproc)}
weft_install_packages build examples tests || stop "packages are missing"
weft_pick_compiler
# shellcheck disable=SC2086
cmake --preset default -Dweft_BUILD_TESTS=ON -Dweft_BUILD_EXAMPLES=ON -Dweft_BUILD_BENCH=ON ${WEFT_CONFIGURE_ARGS:-} ||
  stop "cmake could not configure; its message is above"
cmake --build --preset default --parallel "$jobs" || stop "the build failed; the compiler's message is above"

mkdir -p build/Testing
log=build/Testing/run.log
set +e
ctest --preset default --parallel "$jobs" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
set -e
summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1) || stop "ctest did not finish"
read -r failed total < <(sed -E 's/.* ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/' <<<"$summary")
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
echo "tests/run.sh: $((total - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
