#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Two builds of the real program in one mpiexec, as for devices of two vendors: with --mixed they train, repeatably and
# with the loss of one build to 1e-5 at step 1; without it they are refused by name, and so is everything that they must
# have in common.
#
#     check_mini_llm_mixed.sh <mini_llm> <other build of it> <mpiexec> [flags of mpiexec...]
# shellcheck source=tests/scripts/mini_llm.sh
other=$2
set -- "$1" "${@:3}"
source "$(dirname "$0")/mini_llm.sh"

make_text "$work/text"
common=(--data "$work/text" --batch 8 --seq 24 --steps 5 --warmup 2 --log-every 1 --sample-bytes 0 --micro-batches 4
        --eval-every 3 --eval-batches 1)

both() { # both NAME RANKS-OF-ONE RANKS-OF-OTHER option...: into $work/NAME and $work/log; its status
  local name=$1 one=$2 two=$3
  shift 3
  timeout 120 "${mpiexec[@]}" -n "$one" "$program" "${common[@]}" --out "$work/$name" "$@" : \
    -n "$two" "$other" "${common[@]}" --out "$work/$name" "$@" >"$work/log" 2>&1
}
loss_of_step_1() { sed -n '2p' "$1/losses.csv" | cut -d, -f3; }
near() { # near NAME OUT: its first loss is that of one build to 1e-5, and its last has fallen
  local first last
  first=$(loss_of_step_1 "$2") last=$(tail -n 1 "$2/losses.csv" | cut -d, -f3)
  if awk -v a="$first" -v b="$reference" -v c="$last" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a > 0 && d <= 1e-5 && c < a) }'; then
    right "$1: loss of step 1 $first, of one build $reference"
  else
    wrong "$1: loss of step 1 '$first', of one build '$reference', of the last step '$last'"
    tail -n 3 "$work/log"
  fi
}

cmp -s "$program" "$other" && wrong "both builds are one"
launch 4 "${common[@]}" --out "$work/one" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
reference=$(loss_of_step_1 "$work/one")

for plan in "2 2 1f1b" "1 2 zb-h1"; do
  read -r one two schedule <<<"$plan"
  both "$schedule" "$one" "$two" --mixed --schedule "$schedule" || wrong "$schedule: status $?"
  near "$one ranks of one build and $two of another, $schedule" "$work/$schedule"
  cp "$work/log" "$work/first.log"
  both "$schedule-again" "$one" "$two" --mixed --schedule "$schedule" || wrong "$schedule again: status $?"
  cmp -s "$work/$schedule/losses.csv" "$work/$schedule-again/losses.csv" &&
    cmp -s "$work/$schedule/model.safetensors" "$work/$schedule-again/model.safetensors" &&
    right "$schedule: the same bits again" || wrong "$schedule: a mixed job is not repeatable"
done
both "staged" 2 2 --mixed --schedule 1f1b --door staged --chunk-bytes 4096 || wrong "staged: status $?"
cmp -s "$work/1f1b/losses.csv" "$work/staged/losses.csv" && cmp -s "$work/1f1b/model.safetensors" "$work/staged/model.safetensors" &&
  right "edges staged in chunks, within and between builds: the same bits" || wrong "staged edges change bits"
both "data" 2 2 --mixed --data-ranks 2 || wrong "data: status $?"
near "two pipelines of two builds on the data axis" "$work/data"

# The map of ranks to devices, and in what they differ.
said() { # said WORDS...: in the log of the first mixed run
  grep -qE -- "$1" "$work/first.log" && right "says: $1" || { wrong "does not say: $1"; head -n 30 "$work/first.log"; }
}
said '^rank +holds +vendor +space +device'
said '^0 +layers 0.* +host '
said '^2 +layers .* +host '
said '^note: executable \(XXH3\) is [0-9]+ on rank 0, [0-9]+ on ranks 1'
said '^note: all ranks have plan, model, data and options in common \(fingerprint [0-9a-f]{16}\)'

refused() { # refused NAME WORDS RANKS RANKS option... -- option of the other build...
  local name=$1 words=$2 one=$3 two=$4 first=() begin
  shift 4
  while [ $# -gt 0 ] && [ "$1" != -- ]; do first+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  begin=$SECONDS
  timeout -k 5 60 "${mpiexec[@]}" -n "$one" "$program" "${common[@]}" --out "$work/refused" "${first[@]}" : \
    -n "$two" "$other" "${common[@]}" --out "$work/refused" "$@" >"$work/log" 2>&1
  local status=$?
  if [ "$status" -ne 0 ] && [ $((SECONDS - begin)) -le 10 ] && [ "$(grep -cF -- "$words" "$work/log")" -eq 1 ] && [ ! -e "$work/refused" ]; then
    right "$name: $(grep -F -m 1 -- "$words" "$work/log" | cut -c 1-150)"
  else
    wrong "$name (status $status)"
    head -n 12 "$work/log"
  fi
}
refused "two builds, and nobody said so" "executable (XXH3) is" 2 2
grep -q -- "allow a mixed job (--mixed)" "$work/log" && right "and how to allow it" || wrong "no word of --mixed"
refused "one build says so, the other does not" 'a mixed job is "allowed" on rank 0 and "not allowed" on rank 2' 2 2 --mixed
refused "another model" 'preset is "nano" on rank 0 and "small" on rank 1' 1 1 --mixed -- --mixed --preset small
refused "another seed" 'seed is "1" on rank 0 and "2" on rank 2' 2 2 --mixed -- --mixed --seed 2
refused "another plan" 'do not agree' 1 2 --mixed -- --mixed --schedule gpipe
sed 's/shuttle/Shuttle/' "$work/text" >"$work/text2"
refused "other data" 'data (XXH3) is' 1 1 --mixed -- --mixed --data "$work/text2"

conclude
