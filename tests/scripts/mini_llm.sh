# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# shellcheck shell=bash
# Sourced by the checks of the real program: check_*.sh <mini_llm> <mpiexec> [flags of mpiexec...]
set -u
program=$1
mpiexec=("${@:2}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1
good=0
bad=0

launch() { # launch RANKS option...
  local ranks=$1
  shift
  "${mpiexec[@]}" -n "$ranks" "$program" "$@"
}
right() { good=$((good + 1)); echo "ok: $1"; }
wrong() { bad=$((bad + 1)); echo "WRONG: $1"; }
conclude() {
  echo "$good right, $bad wrong"
  [ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
}

# A text of the project's own: the check does not depend on what the machine carries.
make_text() { # make_text FILE
  awk 'BEGIN { srand(7); for (i = 0; i < 900; ++i) print "In line " i " the shuttle carries the weft under warp " int(97 * rand()) "." }' >"$1"
}
