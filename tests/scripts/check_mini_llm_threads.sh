#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Threads in a rank, with the real program; for a Kokkos that has threads. How a kernel is cut among threads changes no bit
# (the number of BLAS threads would, and stays at one), and ranks that differ in their threads are refused.
#
#     check_mini_llm_threads.sh <mini_llm> <mpiexec> [flags of mpiexec...]
# shellcheck source=tests/scripts/mini_llm.sh
source "$(dirname "$0")/mini_llm.sh"

make_text "$work/text"
common=(--data "$work/text" --batch 7 --seq 24 --steps 4 --warmup 2 --log-every 3 --sample-bytes 0 --dropout 0.1
        --micro-batches 3)

run() { # run NAME THREADS RANKS option...
  local name=$1
  export OMP_NUM_THREADS=$2
  launch "$3" "${common[@]}" "${@:4}" --out "$work/$name" >"$work/log" 2>&1 || { wrong "$name: status $?"; tail -n 3 "$work/log"; }
}
compare() { # compare NAME OUT
  if cmp -s "$work/one/losses.csv" "$2/losses.csv" && cmp -s "$work/one/model.safetensors" "$2/model.safetensors"; then
    right "$1"
  else
    wrong "$1"
    tail -n 3 "$2/losses.csv" 2>/dev/null
  fi
}
threads_of() { # what the run itself says it used
  grep -o '"threads per rank": "[0-9]*"' "$work/$1/config-run.json" | grep -o '[0-9]*'
}

run one 1 1 --schedule serial
[ -s "$work/one/losses.csv" ] || { cat "$work/log"; exit 1; }
for threads in 2 3; do
  run "serial-$threads" "$threads" 1 --schedule serial
  compare "serial, $threads threads" "$work/serial-$threads"
  [ "$(threads_of "serial-$threads")" = "$threads" ] || wrong "the run used $(threads_of "serial-$threads") threads, not $threads"
  run "ranks-$threads" "$threads" 2 --schedule 1f1b
  compare "2 ranks of $threads threads" "$work/ranks-$threads"
  run "in-process-$threads" "$threads" 1 --schedule 1f1b --transport in-process --ranks 3
  compare "3 ranks in one process, $threads threads each" "$work/in-process-$threads"
done

# One world, two thread counts.
status=0
"${mpiexec[@]}" -n 1 env OMP_NUM_THREADS=1 "$program" "${common[@]}" --schedule 1f1b --out "$work/mixed" : \
  -n 1 env OMP_NUM_THREADS=2 "$program" "${common[@]}" --schedule 1f1b --out "$work/mixed" >"$work/log" 2>&1 || status=$?
if [ "$status" -ne 0 ] && grep -q 'threads per rank' "$work/log"; then
  right "ranks of 1 and 2 threads: $(grep -m 1 'threads per rank' "$work/log" | cut -c 1-150)"
else
  wrong "ranks of 1 and 2 threads: status $status"
  head -n 5 "$work/log"
fi

conclude
