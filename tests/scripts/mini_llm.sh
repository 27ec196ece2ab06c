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

# Token files: bytes of a text as uint16, and llm.c's header before them.
le32() { # le32 NUMBER: its four bytes, little-endian
  local shift
  for shift in 0 8 16 24; do printf "\\$(printf '%03o' $((($1 >> shift) & 255)))"; done
}
as_uint16() { # as_uint16 TEXT FILE
  printf "$(od -An -v -t o1 -w1 "$1" | sed 's/ /\\/; s/$/\\000/' | tr -d '\n')" >"$2"
}
make_shard() { # make_shard MAGIC VERSION COUNT TOKENS FILE
  { le32 "$1"; le32 "$2"; le32 "$3"; head -c 1012 /dev/zero; cat "$4"; } >"$5"
}

# A text of the project's own: the check does not depend on what the machine carries.
make_text() { # make_text FILE
  awk 'BEGIN { srand(7); for (i = 0; i < 900; ++i) print "In line " i " the shuttle carries the weft under warp " int(97 * rand()) "." }' >"$1"
}
