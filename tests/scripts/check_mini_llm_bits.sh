#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The contract on numbers, with the real program: losses.csv and the final weights are the same bytes whatever the
# schedule, the ranks, the transport, recompute, evaluation, the partition, and a resume on another number of ranks.
#
#     check_mini_llm_bits.sh <mini_llm> <mpiexec> [flags of mpiexec...]
# shellcheck source=tests/scripts/mini_llm.sh
source "$(dirname "$0")/mini_llm.sh"

make_text "$work/text"
common=(--data "$work/text" --batch 7 --seq 24 --steps 6 --warmup 2 --log-every 3 --sample-bytes 0 --dropout 0.1)

compare() { # compare NAME OUT [REFERENCE]
  local reference=${3:-$work/serial}
  if cmp -s "$reference/losses.csv" "$2/losses.csv" && cmp -s "$reference/model.safetensors" "$2/model.safetensors"; then
    right "$1"
  else
    wrong "$1"
    tail -n 3 "$work/log" "$2/losses.csv" 2>/dev/null
  fi
}
run() { # run NAME RANKS option...
  local name=$1 ranks=$2
  shift 2
  launch "$ranks" "${common[@]}" "$@" --out "$work/$name" >"$work/log" 2>&1 || wrong "$name: status $?"
}

run serial 1 --schedule serial --micro-batches 3
run serial2 1 --schedule serial --micro-batches 2
[ -s "$work/serial/losses.csv" ] || { cat "$work/log"; exit 1; }
cmp -s "$work/serial/losses.csv" "$work/serial2/losses.csv" && wrong "another cut into micro-batches must show in the bits"

for schedule in gpipe 1f1b zb-h1; do
  for ranks in 1 2 3 4; do
    run "$schedule-$ranks" "$ranks" --schedule "$schedule" --micro-batches 3
    compare "$schedule on $ranks ranks" "$work/$schedule-$ranks"
  done
  run "$schedule-few" 4 --schedule "$schedule" --micro-batches 2
  compare "$schedule on 4 ranks, 2 micro-batches" "$work/$schedule-few" "$work/serial2"
  run "$schedule-recompute" 3 --schedule "$schedule" --micro-batches 3 --recompute full
  compare "$schedule on 3 ranks, recompute" "$work/$schedule-recompute"
  run "$schedule-threads" 1 --schedule "$schedule" --micro-batches 3 --transport in-process --ranks 3
  compare "$schedule on 3 threads" "$work/$schedule-threads"
done
# By whichever door boundaries go; chunks are shorter than they are.
for door in staged device-aware automatic; do
  run "door-$door" 3 --schedule zb-h1 --micro-batches 3 --door "$door" --chunk-bytes 1024 --channels 2
  compare "zb-h1 on 3 ranks, door $door" "$work/door-$door"
done
grep -q "^device memory: ranks 0 to 2: bodies lie in host memory" "$work/log" && grep -q "^links: ranks 1 and 2: 4 KiB direct " "$work/log" &&
  right "what was found is printed" || wrong "what was found is printed"
run door-threads 1 --schedule zb-h1 --micro-batches 3 --door automatic --transport in-process --ranks 3
compare "zb-h1 on 3 threads, door automatic" "$work/door-threads"
run evaluated 2 --schedule 1f1b --micro-batches 3 --eval-every 1 --eval-batches 2
compare "evaluation after every step" "$work/evaluated"
run blind 2 --schedule 1f1b --micro-batches 3 --eval-every 0
compare "no evaluation" "$work/blind"
run uneven 4 --schedule 1f1b --micro-batches 3 --partition 1,0,4,1
compare "layers that do not divide, an empty stage" "$work/uneven"
run uneven-zb 4 --schedule zb-h1 --micro-batches 3 --partition 1,0,4,1 --recompute full
compare "the same under zb-h1, with recompute" "$work/uneven-zb"

# No rank waits for the norm of all gradients, whatever is clipped.
run clipped 1 --schedule serial --micro-batches 3 --clip 0.3
for plan in "2 1f1b" "3 zb-h2" "4 zbv"; do
  read -r ranks schedule <<<"$plan"
  run "after-$schedule" "$ranks" --schedule "$schedule" --micro-batches 3 --post-validation --eval-every 4 --eval-batches 1
  compare "$schedule on $ranks ranks, validated afterwards" "$work/after-$schedule"
  run "after-clipped-$schedule" "$ranks" --schedule "$schedule" --micro-batches 3 --post-validation --clip 0.3 --window 4
  compare "$schedule on $ranks ranks, validated afterwards, clipped" "$work/after-clipped-$schedule" "$work/clipped"
done

# The same tokens in another form: one raw file, and shards of llm.c's that end in the middle of a window.
tokens=$(stat -c %s "$work/text")
as_uint16 "$work/text" "$work/raw.bin"
launch 2 "${common[@]}" --data "$work/raw.bin" --data-format uint16 --micro-batches 3 --out "$work/raw" >"$work/log" 2>&1 || wrong "raw: status $?"
compare "the text's bytes as nanoGPT's uint16 tokens" "$work/raw"
mkdir "$work/shards"
begin=0
for end in 1000 1001 $((tokens - tokens / 10)) "$tokens"; do
  tail -c +$((2 * begin + 1)) "$work/raw.bin" | head -c $((2 * (end - begin))) >"$work/part"
  name=train_$begin
  [ "$end" = "$tokens" ] && name=val_0
  make_shard 20240520 1 $((end - begin)) "$work/part" "$work/shards/text_$name.bin"
  begin=$end
done
launch 3 "${common[@]}" --data "$work/shards" --micro-batches 3 --out "$work/sharded" >"$work/log" 2>&1 || wrong "sharded: status $?"
compare "the text's bytes as shards of llm.c's" "$work/sharded"

# Recording changes nothing, and what is recorded is a whole and true timeline.
check_trace() { # check_trace FILE RANKS STEPS MICRO_BATCHES [PIPELINES]
  local said
  if ! command -v python3 >/dev/null; then
    [ -s "$1" ] && right "a trace (its contents are not looked at: no python3)" || wrong "no trace"
  elif said=$(python3 "$(dirname "$0")/check_trace.py" "$@" 2>&1); then
    right "trace: $said"
  else
    wrong "trace $1 of $2 ranks: $(tail -n 1 <<<"$said")"
  fi
}
for plan in "1 serial" "3 1f1b" "4 zb-h1"; do
  read -r ranks schedule <<<"$plan"
  run "traced-$schedule" "$ranks" --schedule "$schedule" --micro-batches 3 --trace "$work/$schedule.json" --trace-steps 2:4
  compare "$schedule on $ranks ranks, traced" "$work/traced-$schedule"
  check_trace "$work/$schedule.json" "$ranks" 3 3
done

# Saved on three ranks, gone on with on two, then on one.
run resumed 3 --schedule 1f1b --micro-batches 3 --save-every 2
rm -f "$work/resumed/checkpoint-6.safetensors" "$work/resumed/model.safetensors"
[ -s "$work/resumed/checkpoint-4.safetensors" ] || wrong "no checkpoint at step 4"
run resumed 2 --schedule gpipe --micro-batches 3 --resume latest
compare "resumed from step 4 on another number of ranks" "$work/resumed"
run again 4 --schedule 1f1b --micro-batches 3 --save-every 3
run again 1 --schedule serial --micro-batches 3 --resume "$work/again/checkpoint-3.safetensors"
compare "resumed from step 3, serially" "$work/again"

# Ranks of different speed: other layers, the same bits, named or measured.
run fast-middle 3 --schedule 1f1b --micro-batches 3 --speeds 1,4,1
compare "speeds 1,4,1" "$work/fast-middle"
run measured 2 --schedule zb-h1 --micro-batches 3 --speeds measure
compare "measured speeds" "$work/measured"

# The second architecture, which has no dropout: other layers under the same schedules.
llama=(--preset llama-nano --dropout 0 --micro-batches 3 --steps 4)
run llama 1 --schedule serial "${llama[@]}"
[ -s "$work/llama/losses.csv" ] || { cat "$work/log"; exit 1; }
for plan in "2 gpipe" "3 1f1b" "4 zb-h1"; do
  read -r ranks schedule <<<"$plan"
  run "llama-$schedule" "$ranks" --schedule "$schedule" "${llama[@]}"
  compare "llama-nano, $schedule on $ranks ranks" "$work/llama-$schedule" "$work/llama"
done
run llama-threads 1 --schedule 1f1b "${llama[@]}" --recompute full --transport in-process --ranks 4
compare "llama-nano, 1f1b on 4 threads, recompute" "$work/llama-threads" "$work/llama"
run llama-resumed 3 --schedule 1f1b "${llama[@]}" --save-every 2
rm -f "$work/llama-resumed/checkpoint-4.safetensors" "$work/llama-resumed/model.safetensors"
run llama-resumed 2 --schedule zb-h1 "${llama[@]}" --resume latest
compare "llama-nano, resumed from step 2 on another number of ranks" "$work/llama-resumed" "$work/llama"

# Data parallelism: the bits of one rank that keeps as many groups of gradients apart, for every way to share the ranks.
for groups in 2 3; do
  for reduce in ring recursive-halving; do
    data=(--micro-batches 2 --reduce "$reduce" --eval-every 3 --eval-batches 1)
    run "grouped" 1 --schedule serial --gradient-groups "$groups" "${data[@]}"
    run "replicas" "$groups" --schedule serial --data-ranks "$groups" "${data[@]}"
    compare "$groups data ranks, $reduce" "$work/replicas" "$work/grouped"
    run "mesh" $((2 * groups)) --schedule zb-h1 --data-ranks "$groups" "${data[@]}"
    compare "$groups data ranks of 2 stages, zb-h1, $reduce" "$work/mesh" "$work/grouped"
  done
  run "traced-mesh" $((2 * groups)) --schedule zb-h1 --data-ranks "$groups" "${data[@]}" --trace "$work/mesh.json" --trace-steps 2:4
  compare "$groups data ranks of 2 stages, zb-h1, traced" "$work/traced-mesh" "$work/mesh"
  check_trace "$work/mesh.json" $((2 * groups)) 3 2 "$groups"
  run "threads" 1 --schedule 1f1b --data-ranks "$groups" "${data[@]}" --transport in-process --ranks $((2 * groups))
  compare "$groups data ranks of 2 stages, threads, 1f1b" "$work/threads" "$work/grouped"
  run "moved" $((2 * groups)) --schedule 1f1b --data-ranks "$groups" "${data[@]}" --save-every 2
  rm -f "$work/moved/checkpoint-6.safetensors" "$work/moved/model.safetensors"
  run "moved" 2 --schedule gpipe --gradient-groups "$groups" "${data[@]}" --resume latest
  compare "saved on $groups data ranks, resumed on one" "$work/moved" "$work/grouped"
  run "llama-grouped" 1 --schedule serial "${llama[@]}" --gradient-groups "$groups" --micro-batches 2
  run "llama-mesh" $((2 * groups)) --schedule 1f1b "${llama[@]}" --data-ranks "$groups" --micro-batches 2
  compare "llama-nano, $groups data ranks of 2 stages" "$work/llama-mesh" "$work/llama-grouped"
done
run library 4 --schedule 1f1b --data-ranks 2 --micro-batches 2 --reduce mpi
run library-again 4 --schedule 1f1b --data-ranks 2 --micro-batches 2 --reduce mpi
compare "the MPI library's all-reduce, twice" "$work/library-again" "$work/library"

# Two copies of the model in one pipeline: the bits of one rank that keeps a group of gradients apart for each.
both=(--micro-batches 4 --eval-every 3 --eval-batches 1)
run "two-groups" 1 --schedule serial --gradient-groups 2 --micro-batches 2
for plan in "2 chimera" "4 chimera" "2 dualpipe"; do
  read -r ranks schedule <<<"$plan"
  run "two-$schedule-$ranks" "$ranks" --schedule "$schedule" "${both[@]}"
  compare "$schedule on $ranks ranks, two copies" "$work/two-$schedule-$ranks" "$work/two-groups"
done
run "two-recompute" 1 --schedule dualpipe "${both[@]}" --recompute full --transport in-process --ranks 2
compare "dualpipe on 2 threads, recompute" "$work/two-recompute" "$work/two-groups"
run "two-traced" 4 --schedule chimera "${both[@]}" --save-every 3 --trace "$work/two.json" --trace-steps 2:3
rm -f "$work/two-traced/checkpoint-6.safetensors" "$work/two-traced/model.safetensors"
check_trace "$work/two.json" 4 2 4
run "two-traced" 1 --schedule serial --gradient-groups 2 --micro-batches 2 --resume latest
compare "chimera on 4 ranks, traced, saved, and resumed on one" "$work/two-traced" "$work/two-groups"
run "four-groups" 1 --schedule serial --gradient-groups 4 --micro-batches 1
run "two-replicas" 4 --schedule chimera --data-ranks 2 --micro-batches 2
compare "2 data ranks of chimera on 2 ranks" "$work/two-replicas" "$work/four-groups"
run "llama-groups" 1 --schedule serial "${llama[@]}" --gradient-groups 2 --micro-batches 2
run "llama-two" 4 --schedule chimera "${llama[@]}" --micro-batches 4
compare "llama-nano, chimera on 4 ranks" "$work/llama-two" "$work/llama-groups"

# A table of one's own whose gradients add up downwards: the bits of one rank that adds them in its order.
printf '0F0,0F1,0F2,0B2,0B1,0B0\n1F0,1F1,1F2,1B2,1B1,1B0\n' >"$work/downwards.csv"
run "downwards" 2 --schedule "$work/downwards.csv"
run "replayed" 1 --schedule "$work/downwards.csv" --replay 2
compare "a table that adds downwards, and its serial replay" "$work/replayed" "$work/downwards"
cmp -s "$work/downwards/losses.csv" "$work/serial/losses.csv" && wrong "another order of additions must show in the bits"

# Asynchronous schedules: where windows end, evaluation, and saving in mid-run change no bit.
run async 3 --schedule pipedream --window 1 --save-every 4
run async-whole 3 --schedule pipedream --eval-every 0
compare "pipedream on 3 ranks, one window" "$work/async-whole" "$work/async"
run 2bw 2 --schedule pipedream-2bw --micro-batches 3 --clip-policy delayed-norm --clip 0.1
run 2bw-windows 1 --schedule pipedream-2bw --micro-batches 3 --clip-policy delayed-norm --clip 0.1 --window 2 \
  --eval-every 1 --eval-batches 2 --transport in-process --ranks 2
compare "pipedream-2bw on 2 threads, short windows" "$work/2bw-windows" "$work/2bw"
run async-on 3 --schedule pipedream --resume "$work/async/checkpoint-4.safetensors"
cmp -s "$work/async/model.safetensors" "$work/async-on/model.safetensors" && right "pipedream, resumed in mid-run" || wrong "pipedream, resumed"
run async-other 2 --schedule 1f1b --micro-batches 1 --resume "$work/async/checkpoint-4.safetensors"
grep -q "goes on from the newest weights" "$work/log" && right "1f1b goes on from pipedream" || { wrong "no note"; tail -n 3 "$work/log"; }

# SIGTERM to every rank: saves, stops, and the rest gives the same bits. Enough steps that it comes in the middle.
long=(--data "$work/text" --batch 7 --seq 24 --steps 150 --warmup 2 --log-every 50 --sample-bytes 0 --eval-every 0
      --micro-batches 3 --schedule 1f1b)
launch 2 "${long[@]}" --out "$work/whole" >"$work/log" 2>&1 || wrong "long run"
launch 2 "${long[@]}" --out "$work/stopped" --resume auto >"$work/log" 2>&1 &
launcher=$!
for ((tenths = 0; tenths < 300; ++tenths)); do
  [ "$(cat "$work/stopped/losses.csv" 2>/dev/null | wc -l)" -gt 5 ] && break
  sleep 0.1
done
pkill -TERM -f "^$program .*--out $work/stopped" 2>/dev/null || for each in /proc/[0-9]*; do
  [ "$(readlink "$each/exe" 2>/dev/null)" = "$(readlink -f "$program")" ] && tr '\0' ' ' <"$each/cmdline" | grep -q "$work/stopped" &&
    kill -TERM "${each#/proc/}"
done
wait "$launcher" || wrong "a stopped run must end well, not with status $?"
steps=$(($(wc -l <"$work/stopped/losses.csv") - 1))
if [ "$steps" -lt 150 ] && grep -q "stopped at step $steps as asked" "$work/log"; then right "SIGTERM stops at step $steps"; else wrong "SIGTERM: $steps steps done"; tail -n 3 "$work/log"; fi
launch 3 "${long[@]}" --out "$work/stopped" --resume auto >"$work/log" 2>&1 || { wrong "resume after SIGTERM"; tail -n 3 "$work/log"; }
compare "SIGTERM, then resumed on 3 ranks" "$work/stopped" "$work/whole"

conclude
