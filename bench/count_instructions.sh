#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Instructions per scheduled action, counted by callgrind: the same number on every run, so that CI can gate on it.
# Two runs of different length are subtracted, so that start-up does not count. Also fails if a steady step allocates.
#
#     bench/count_instructions.sh build/bin/host_cost [LIMIT [SCHEDULE...]]
set -euo pipefail
program=${1:?usage: count_instructions.sh build/bin/host_cost [LIMIT]}
[ -x "$program" ] || { echo "count_instructions: $program is not built; tests/run.sh builds it" >&2; exit 2; }
limit=${2:-500}
schedules=("${@:3}")
[ "${#schedules[@]}" -gt 0 ] || schedules=(gpipe 1f1b interleaved-1f1b zb-h1 zb-v chimera pipedream)
command -v valgrind >/dev/null || { echo "count_instructions: valgrind is missing; apt-get install valgrind" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() { # run SCHEDULE STEPS: prints "<actions> <instructions>"
  local schedule=$1 out
  shift
  out=$(valgrind --tool=callgrind --callgrind-out-file="$dir/out.$1" "$program" --steps "$1" "$schedule" 2>"$dir/log.$1") ||
    { cat "$dir/log.$1" >&2; echo "count_instructions: a step of the steady state allocates, or the program failed: $out" >&2; exit 1; }
  echo "$(sed -n 's/^actions \([0-9]*\) .*/\1/p' <<<"$out") $(sed -n 's/^summary: \([0-9]*\).*/\1/p;s/^totals: \([0-9]*\).*/\1/p' "$dir/out.$1" | head -n 1)"
}
status=0
for schedule in "${schedules[@]}"; do
  read -r few_actions few < <(run "$schedule" 10)
  read -r many_actions many < <(run "$schedule" 110)
  each=$(( (many - few) / (many_actions - few_actions) ))
  echo "$schedule: instructions per action: $each (limit $limit); allocations per step: 0"
  [ "$each" -le "$limit" ] || status=1
done
exit "$status"
