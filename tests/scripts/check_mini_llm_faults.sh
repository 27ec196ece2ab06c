#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Bad input and bad luck, with the real program on two ranks: one message that names cause and remedy, every rank ends
# non-zero within 10 seconds, and nothing written earlier is damaged.
#
#     check_mini_llm_faults.sh <mini_llm> <mpiexec> [flags of mpiexec...]
# shellcheck source=tests/scripts/mini_llm.sh
source "$(dirname "$0")/mini_llm.sh"

make_text "$work/text"
quick=(--batch 4 --seq 16 --micro-batches 2 --sample-bytes 0 --eval-every 0 --warmup 1)

refused() { # refused NAME WORDS command...: ends non-zero within 10 s and says WORDS
  local name=$1 words=$2 status=0 begin
  shift 2
  begin=$(date +%s%N)
  timeout -k 5 30 "$@" </dev/null >"$work/log" 2>&1 || status=$?
  local took=$((($(date +%s%N) - begin) / 1000000))
  if [ "$status" -eq 0 ] || [ "$took" -gt 10000 ] || ! grep -qF -- "$words" "$work/log"; then
    wrong "$name (status $status, $took ms)"
    sed 's/^/      /' "$work/log" | head -n 12
  else
    right "$name: $(grep -F -m 1 -- "$words" "$work/log" | cut -c 1-150)"
  fi
}

# --- data
refused "missing file" "no-such-file" "${mpiexec[@]}" -n 2 "$program" --data "$work/no-such-file" --out "$work/o1"
: >"$work/empty"
refused "empty file" "is empty" "${mpiexec[@]}" -n 2 "$program" --data "$work/empty" --out "$work/o1"
mkdir "$work/nothing"
refused "folder without text" "holds no text" "${mpiexec[@]}" -n 2 "$program" --data "$work/nothing" --out "$work/o1"
if [ "$(id -u)" -ne 0 ]; then
  cp "$work/text" "$work/secret" && chmod 000 "$work/secret"
  refused "unreadable file" "secret" "${mpiexec[@]}" -n 2 "$program" --data "$work/secret" --out "$work/o1"
fi
head -c 200 "$work/text" >"$work/short"
refused "sequence longer than the data" "the largest possible here is 19" "${mpiexec[@]}" -n 2 "$program" --data "$work/short" --seq 64 --out "$work/o1"
[ ! -e "$work/o1" ] && right "nothing was written by a run that could not start" || wrong "a refused run left $work/o1"

# --- token files
as_uint16 "$work/short" "$work/raw.bin"
shard=$work/shard.bin
token_refused() { # token_refused NAME WORDS option...
  local name=$1 words=$2
  shift 2
  refused "$name" "$words" "${mpiexec[@]}" -n 2 "$program" --data "$shard" "${quick[@]}" --steps 2 --out "$work/o1" "$@"
}
make_shard 20240520 1 201 "$work/raw.bin" "$shard"
token_refused "shard: claims more tokens than it has" "says that it has 201 tokens, which with the header is 1426 bytes, and it has 1424"
make_shard 20240520 1 -5 "$work/raw.bin" "$shard"
token_refused "shard: a negative count" "says that it has -5 tokens"
make_shard 20240520 1 0 /dev/null "$shard"
token_refused "shard: no tokens" "says that it has 0 tokens"
make_shard 20240801 1 100 "$work/raw.bin" "$shard"
token_refused "shard: a wrong version" "and version 7 is known"
make_shard 12345 1 200 "$work/raw.bin" "$shard"
token_refused "shard: a wrong magic number" "say --data-format uint16"
token_refused "shard: a wrong magic number, form given" "begins with 12345" --data-format llmc
head -c 500 "$work/raw.bin" >"$shard" && printf x >>"$shard"
token_refused "raw tokens: an odd number of bytes" "tokens of two bytes make an even number" --data-format uint16
make_shard 20240801 7 100 "$work/raw.bin" "$shard"
token_refused "shard: a token beyond the vocabulary" "and --preset nano has tokens 0 to 255"
shard=$work/pipe.bin && mkfifo "$shard"
token_refused "shard: a FIFO" "is not a regular file" --data-format llmc
shard=/dev/zero
token_refused "tokens: a device" "is not a regular file" --data-format uint16

# --- traces
trace_refused() { # trace_refused NAME WORDS option...
  local name=$1 words=$2
  shift 2
  refused "$name" "$words" "${mpiexec[@]}" -n 2 "$program" --data "$work/text" "${quick[@]}" --steps 2 --out "$work/o1" "$@"
}
trace_refused "trace into a folder that is not there" "check the spelling of the path" --trace "$work/gone/trace.json"
trace_refused "trace into a folder" "is no regular file" --trace "$work/nothing"
trace_refused "trace over the data" "is no name for a trace" --trace "$work/text"
trace_refused "trace of steps that are not done" "is not within the steps of this run; 1:2 are there" --trace "$work/t.json" --trace-steps 2:3
trace_refused "trace-steps without a trace" "nothing where to" --trace-steps 1:2
trace_refused "trace-steps in no order" "A:B with A not above B" --trace "$work/t.json" --trace-steps 2:1
[ ! -e "$work/t.json" ] && [ ! -e "$work/t.json.partial" ] && right "no trace of a run that could not start" || wrong "a refused run left a trace"
rm -rf "$work/o1"

# --- options
refused "zero micro-batches" "whole numbers from 1" "${mpiexec[@]}" -n 2 "$program" --micro-batches 0
refused "serial on two ranks" "choose --schedule gpipe, 1f1b or zb-h1" "${mpiexec[@]}" -n 2 "$program" --schedule serial
refused "layers that do not add up" "adds up to 5 layers" "${mpiexec[@]}" -n 2 "$program" --partition 2,3
refused "unknown option" "did you mean --steps" "${mpiexec[@]}" -n 2 "$program" --stepz 3
refused "ranks that pipelines cannot share" "start a multiple of 3, or choose a divisor of 2" "${mpiexec[@]}" -n 2 "$program" --data-ranks 3 --batch 12
refused "a batch too small for its pipelines" "use --batch 8 or more, or fewer micro-batches" "${mpiexec[@]}" -n 2 "$program" --data-ranks 2 --batch 7
refused "no such all-reduce" "choose one of ring, recursive-doubling" "$program" --reduce butterfly
refused "the library's all-reduce, emulated" "choose another one, such as --reduce ring" "$program" --schedule serial --gradient-groups 2 --reduce mpi
refused "groups beside data ranks" "leave one of them away" "${mpiexec[@]}" -n 2 "$program" --data-ranks 2 --gradient-groups 2 --batch 16
refused "--plan of an impossible plan" "adds up to 5 layers" "$program" --plan --ranks 2 --partition 2,3

# Of builds without NCCL and RCCL: no card is needed to be told so.
if ! ldd "$program" | grep -qE 'lib[nr]ccl'; then
  refused "no vendor's library" "no rank's build has one" "${mpiexec[@]}" -n 2 "$program" --data "$work/text" --door nccl --out "$work/o1"
fi
refused "a vendor's library over threads" "wants a device for each rank" "$program" --transport in-process --ranks 2 --door nccl
refused "sums by vendors without their door" "and --door plain does not connect to it" "${mpiexec[@]}" -n 2 "$program" --data "$work/text" --data-ranks 2 --reduce hierarchical:nccl --out "$work/o1"
refused "channels of threads" "in-process has one; leave it away" "$program" --transport in-process --ranks 3 --door staged --channels 2
refused "threads on two processes" "start one process, and say --ranks 2" "${mpiexec[@]}" -n 2 "$program" --transport in-process --ranks 2
mkfifo "$work/pipe"
refused "--config is a pipe" "no regular file" "${mpiexec[@]}" -n 2 "$program" --config "$work/pipe"
printf 'steps = [[[1]]]\n' >"$work/odd.toml"
refused "--config with a nested list" "neither a number nor a text" "${mpiexec[@]}" -n 2 "$program" --config "$work/odd.toml"
refused "standard output is full" "standard output could not be written" bash -c '"$1" --plan --ranks 2 >/dev/full' _ "$program"

# --- ranks that differ
each=(--data "$work/text" "${quick[@]}" --steps 4 --out "$work/o2")
differ() { # differ NAME WORDS first-options -- second-options
  local name=$1 words=$2 first=()
  shift 2
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  shift
  refused "$name" "$words" "${mpiexec[@]}" -n 1 "$program" "${each[@]}" "${first[@]}" : -n 1 "$program" "${each[@]}" "$@"
}
differ "different seeds" "do not agree" --seed 1 -- --seed 2
differ "different schedules" "do not agree" --schedule gpipe -- --schedule 1f1b
differ "different micro-batches" "do not agree" --micro-batches 2 -- --micro-batches 4
differ "different presets" "do not agree" --preset nano -- --preset small
sed 's/shuttle/Shuttle/' "$work/text" >"$work/text2"
differ "different data" "data (XXH3)" -- --data "$work/text2"
cp "$program" "$work/other" && printf x >>"$work/other"
refused "different builds" "executable (XXH3)" "${mpiexec[@]}" -n 1 "$program" "${each[@]}" : -n 1 "$work/other" "${each[@]}"
refused "data that one rank lacks" "on rank 1" "${mpiexec[@]}" -n 1 "$program" "${each[@]}" : -n 1 "$program" "${each[@]}" --data "$work/gone"
refused "singletons of a foreign launcher" "the launcher started 2 processes, but MPI sees only 1" env OMPI_COMM_WORLD_SIZE=2 "$program" "${each[@]}"

# --- files to start from
launch 2 --data "$work/text" "${quick[@]}" --steps 4 --save-every 2 --out "$work/base" >"$work/log" 2>&1 || { cat "$work/log"; wrong "the good run"; }
weights=$work/base/model.safetensors
newest=$work/base/checkpoint-4.safetensors
damage() { # damage FILE INTO offset bytes: other bytes than were there
  cp "$1" "$2" && printf "$4" | dd of="$2" bs=1 seek="$3" conv=notrunc status=none && ! cmp -s "$1" "$2"
}
head -c 1000 "$weights" >"$work/truncated.safetensors"
refused "truncated weights" "truncated.safetensors" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --init "$work/truncated.safetensors"
head -c 5 "$weights" >"$work/tiny.safetensors"
refused "weights of five bytes" "has 5 bytes" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --init "$work/tiny.safetensors"
damage "$weights" "$work/long.safetensors" 0 '\377\377\377\377\377\377\377\177'
refused "a header of absurd length" "says that its header has 9223372036854775807 bytes" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --init "$work/long.safetensors"
damage "$weights" "$work/nojson.safetensors" 8 'XXXX'
refused "a header that is no JSON" "nojson.safetensors" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --init "$work/nojson.safetensors"
header=$(od -An -t u8 -N 8 "$weights" | tr -d ' ')
damage "$weights" "$work/nan.safetensors" $((8 + header)) '\000\000\300\177'
refused "weights that were changed" "nan.safetensors" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --init "$work/nan.safetensors"
refused "weights of another preset" "\"n_head\" is \"4\", the model wants 6" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --preset small --init "$weights"
refused "weights in place of a checkpoint" "use --init, not --resume" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --resume "$weights"
size=$(stat -c %s "$newest")
damage "$newest" "$work/flipped.safetensors" $((size - 1000)) '\252\125'
refused "a checkpoint with two wrong bytes" "flipped.safetensors" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --resume "$work/flipped.safetensors"
refused "a checkpoint of another seed" "resume with --seed 1" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --seed 3 --resume "$newest"
cp -r "$work/base" "$work/crash" && truncate -s 5000 "$work/crash/checkpoint-4.safetensors"
refused "the newest checkpoint is cut off" "which is whole: --resume" "${mpiexec[@]}" -n 2 "$program" --data "$work/text" "${quick[@]}" --steps 8 --out "$work/crash" --resume
refused "a folder without checkpoints" "holds no checkpoint" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --resume

# --- no space: rank 0 fails in mid-training, all ranks end, what was written stays
if [ "$(id -u)" -eq 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=15m tmpfs "$work/small" 2>/dev/null; then
  # Room for one checkpoint of 10 MB, not for two.
  refused "no space for the second checkpoint" "checkpoint-4.safetensors" "${mpiexec[@]}" -n 2 "$program" --data "$work/text" "${quick[@]}" --steps 6 --save-every 2 --out "$work/small/out"
  grep -qF "No space left on device" "$work/log" && right "names the cause" || wrong "does not name the cause"
  find "$work/small/out" -name '*.safetensors*' ! -name checkpoint-2.safetensors | grep -q . && wrong "a temporary file is left" || right "no temporary file is left"
  cp -r "$work/small/out" "$work/rescued"
  umount "$work/small"
  if launch 1 --data "$work/text" "${quick[@]}" --steps 6 --out "$work/rescued" --resume >"$work/log" 2>&1; then
    right "the first checkpoint is whole: $(grep -m 1 trained "$work/log")"
  else
    wrong "the first checkpoint is damaged"
    tail -n 3 "$work/log"
  fi
else
  echo "skipped: a full file system needs root and mount"
fi
: >"$work/file"
refused "--out is a file" "$work/file" "${mpiexec[@]}" -n 2 "$program" "${each[@]}" --out "$work/file"

# --- a rank that is stopped, not killed: the other one's wait has a deadline
launch 2 --data "$work/text" "${quick[@]}" --steps 1000000 --timeout 2 --out "$work/stalled" >"$work/log" 2>&1 &
launcher=$!
for ((tenths = 0; tenths < 300; ++tenths)); do
  [ "$(cat "$work/stalled/losses.csv" 2>/dev/null | wc -l)" -gt 3 ] && break
  sleep 0.1
done
victim=
for process in /proc/[0-9]*; do
  [ "$(readlink "$process/exe" 2>/dev/null)" = "$(readlink -f "$program")" ] && tr '\0' ' ' <"$process/cmdline" | grep -q "$work/stalled" &&
    victim=${process#/proc/}
done
kill -STOP "$victim"
status=0
begin=$SECONDS
wait "$launcher" || status=$?
if [ "$status" -ne 0 ] && [ $((SECONDS - begin)) -le 10 ] && grep -q "waited 2 s" "$work/log" &&
  grep -q "holds up the others: it does not answer" "$work/log"; then
  right "a stopped rank: $(grep -m 1 "waited 2 s" "$work/log" | cut -c 1-150)"
else
  wrong "a stopped rank (status $status, $((SECONDS - begin)) s)"
  tail -n 5 "$work/log"
fi
kill -KILL "$victim" 2>/dev/null

conclude
