#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# weft-schedule: every schedule's table is read again and legal, published tables are the same where their order binds
# (WEFT_VECTORS_DIR names their folder), damaged tables and hostile files get one line and the right exit status.
#
#     check_weft_schedule.sh <weft-schedule>
# shellcheck source=tests/scripts/mini_llm.sh
source "$(dirname "$0")/mini_llm.sh"
unset NO_COLOR COLUMNS

same() { # same NAME WANTED GOT
  if [ "$2" = "$3" ]; then right "$1"; else wrong "$1: wanted \"${2:0:300}\", got \"${3:0:300}\""; fi
}

ends() { # ends STATUS NAME WORDS command...: exits so, with one line on one of the streams, which says WORDS
  local wanted=$1 name=$2 words=$3 status=0
  shift 3
  timeout -k 5 60 "$@" </dev/null >"$work/line" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ] || [ "$(wc -l <"$work/line")" -ne 1 ] || ! grep -qF -- "$words" "$work/line"; then
    wrong "$name (status $status, wanted $wanted)"
    head -c 600 "$work/line" | sed 's/^/      /'
  else
    right "$name: $(cut -c 1-150 "$work/line")"
  fi
}

# --- list, and every schedule there and back
"$program" list >"$work/list" || wrong "list ends with success"
mapfile -t names < <("$program" list | sed -n 's/^\([a-z0-9][a-z0-9_-]*\)\( .*\)\{0,1\}$/\1/p')
[ "${#names[@]}" -ge 20 ] && right "list has ${#names[@]} schedules" || wrong "list has ${#names[@]} schedules"
for name in "${names[@]}"; do
  made=0
  bad_before=$bad
  for shape in "1 1" "1 4" "2 1" "2 4" "2 5" "3 7" "4 3" "4 8" "6 12" "8 16"; do
    read -r ranks micro_batches <<<"$shape"
    for more in "" "--lower"; do
      # shellcheck disable=SC2086
      if "$program" show "$name" --ranks "$ranks" --micro-batches "$micro_batches" --format csv $more >"$work/t.csv" 2>"$work/log"; then
        made=$((made + 1))
        rows=$(grep -vc '^#' "$work/t.csv")
        [ "$rows" -eq "$ranks" ] || wrong "$name $shape $more: $rows rows"
        ! grep -qE '(^|,)(,|$)' "$work/t.csv" || wrong "$name $shape $more: has an empty cell"
        for sends in buffered rendezvous in-issue-order; do
          # Receives that stand early are for transports that match by tag.
          [ "$more $sends" != "--lower in-issue-order" ] || continue
          "$program" check "$work/t.csv" --sends $sends >"$work/log" 2>&1 || wrong "$name $shape $more $sends: $(head -c 300 "$work/log")"
        done
      elif [ "$(wc -l <"$work/log")" -ne 1 ] || ! grep -q 'legal' "$work/log"; then
        wrong "$name $shape $more: refused without its rule: $(head -c 300 "$work/log")"
      fi
    done
  done
  if [ "$bad" -eq "$bad_before" ] && [ "$made" -gt 0 ]; then right "$name: $made tables are read again and legal"; else wrong "$name: $made tables"; fi
done

# --- what the formats say
same "csv of 1f1b" $'0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1' "$("$program" show 1f1b --ranks 2 --micro-batches 2 --format csv)"
same "csv of 1f1b with posts" $'0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1' \
  "$("$program" show 1f1b --ranks 2 --micro-batches 2 --format csv --lower)"
same "two copies have a first line" "# weft-table 1 name=chimera ranks=2 micro-batches=2 placement=two-way copies=2" \
  "$("$program" show chimera --ranks 2 --micro-batches 2 --format csv | head -n 1)"
same "versions of pipedream" $'0F0,0F1,0B0,0STEP,0B1,0STEP\n1F0,1B0,1STEP,1F1@1,1B1@1,1STEP' \
  "$("$program" show pipedream --ranks 2 --micro-batches 2 --format csv | tail -n 2)"
same "a table that continues a run" $'0F0,0F1@1,0B0,0STEP,0B1@1,0STEP\n1F0@1,1B0@1,1STEP,1F1@2,1B1@2,1STEP' \
  "$("$program" show pipedream --ranks 2 --micro-batches 2 --steps-before 1 --format csv | tail -n 2)"
"$program" show pipedream-2bw --ranks 2 --micro-batches 6 --steps 3 --steps-before 1 --format csv >"$work/t.csv"
ends 0 "steps of a run that goes on" "legal" "$program" check "$work/t.csv"
same "replicated stages take turns" $'rank 0 |F0 F2 .. .. B0--- .. .. .. .. B2--- .. .. .. |\nrank 1 |F1 F3 .. .. .. .. .. B1--- .. .. .. .. B3--- |' \
  "$("$program" show pipedream-replicated --ranks 3 --micro-batches 4 --replicas 2,1 | head -n 2)"
ends 2 "replicas that leave a rank alone" "(asked for 4, nearest legal 3)" "$program" show pipedream-replicated --ranks 4 --micro-batches 4 --replicas 2,1
same "text of gpipe" $'rank 0 |F0 F1 .. .. .. B0--- B1--- |\nrank 1 |.. F0 F1 B0--- B1--- .. .. |\nmakespan 9, bubble rate 0.333333, peak activations 2' \
  "$("$program" show gpipe --ranks 2 --micro-batches 2)"
same "a picture is as wide as asked" 60 "$("$program" show 1f1b --ranks 4 --micro-batches 64 --width 60 | head -n 4 | awk '{ if (length($0) > most) most = length($0) } END { print most <= 60 ? 60 : most }')"
same "colours, taken away, leave the picture" "$("$program" show zb-h1 --ranks 3 --micro-batches 4 --color never)" \
  "$("$program" show zb-h1 --ranks 3 --micro-batches 4 --color always | sed 's/\x1b\[[0-9]*m//g')"
"$program" show zb-h1 --ranks 3 --micro-batches 4 --color always | grep -q $'\x1b\[34mF0' && right "colours" || wrong "colours"
"$program" show zb-h1 --ranks 3 --micro-batches 4 | grep -q $'\x1b' && wrong "colours in a pipe" || right "no colours in a pipe"
field() { # field NAME: of the JSON on standard input, one value a line
  sed -n "s/^  \"$1\": \([^,]*\),\{0,1\}$/\1/p"
}
same "makespan of 1f1b" 33.0 "$("$program" time 1f1b --ranks 4 --micro-batches 8 | field makespan)"
same "makespan of zb-h1" 27.0 "$("$program" time zb-h1 --ranks 4 --micro-batches 8 | field makespan)"
same "bubble of 1f1b" 0.2727 "$("$program" time 1f1b --ranks 4 --micro-batches 8 | field bubble_rate | cut -c 1-6)"
printf '# a comment\nforward,input,weight\n1,1,1\n2,2,2\n' >"$work/costs"
same "costs per stage" 15.0 "$("$program" time gpipe --ranks 2 --micro-batches 2 --per-stage "$work/costs" | field makespan)"
same "hops" 11.0 "$("$program" time gpipe --ranks 2 --micro-batches 2 --hop 1 | field makespan)"
"$program" show 1f1b --ranks 2 --micro-batches 2 --format svg >"$work/svg"
[ "$(grep -c '<rect' "$work/svg")" -eq 10 ] && tail -n 1 "$work/svg" | grep -q '</svg>' && right "svg" || wrong "svg"
if command -v python3 >/dev/null; then
  "$program" show dualpipe --ranks 4 --micro-batches 8 --format trace >"$work/trace"
  "$program" show dualpipe --ranks 4 --micro-batches 8 --format json >"$work/json"
  "$program" compare --ranks 4 --micro-batches 8 --memory 4 --format json >"$work/compare"
  "$program" list --format json >"$work/names"
  if python3 - "$work" <<'PYTHON'
import json, sys
load = lambda name: json.load(open(sys.argv[1] + "/" + name))
events = load("trace")["traceEvents"]
assert sum(e["ph"] == "X" for e in events) == 4 * 8 * 2 + sum(e["ph"] == "X" and e["name"][0] == "W" for e in events)
assert sum(e["ph"] == "s" for e in events) == sum(e["ph"] == "f" for e in events) == 2 * 3 * 8
table = load("json")
assert table["makespan"] == max(cell["end"] for row in table["rows"] for cell in row)
assert len(table["rows"]) == len(table["span"]) == len(table["peak_activations"]) == 4 and table["copies"] == 2
lines = load("compare")
legal = [line for line in lines if line["legal"]]
assert [line["place"] for line in legal] == list(range(1, len(legal) + 1))
assert [line["makespan"] for line in legal] == sorted(line["makespan"] for line in legal)
assert all(line["peak_activations"] <= 4 for line in legal) and all(line["reason"] for line in lines if not line["legal"])
assert len(lines) == len(load("names")) - 1
PYTHON
  then right "trace, json and compare"; else wrong "trace, json and compare"; fi
fi
"$program" compare --ranks 4 --micro-batches 8 --memory 4 | grep -q 'gpipe: left out: a rank keeps 8 activations at its peak, and the limit is 4' &&
  right "compare says why" || wrong "compare says why"

# --- damaged tables: one line with defect, rank, stage, micro-batch; status 1
table() { # table LINE...: a file
  printf '%s\n' "$@" >"$work/t.csv"
}
table 0F0,0F1,0B0,0B1 1F0,1B0,1B1,1F1
ends 1 "backward first" "backward-before-forward (rank 1, stage 1, micro-batch 1)" "$program" check "$work/t.csv"
table 0F0,0F1,0B0,0B1 1F0,1B0,1F1
ends 1 "an action dropped" "missing-backward (rank 1, stage 1, micro-batch 1)" "$program" check "$work/t.csv"
table 0F0,0F1,0B0,0B1,0B1 1F0,1B0,1F1,1B1
ends 1 "an action twice" "duplicate-backward (rank 0, stage 0, micro-batch 1)" "$program" check "$work/t.csv"
table 0F0,0F1,0B1,0B0 1F0,1B0,1F1,1B1
ends 0 "another order" "legal" "$program" check "$work/t.csv"
table 0F0,0B0,0F1,0B1 1F1,1F0,1B0,1B1
ends 1 "a deadlock" "deadlock (rank " "$program" check "$work/t.csv"
table 0F0,0B-1 1F0,1B0
ends 1 "a negative micro-batch" "negative-micro-batch (rank 0, stage 0, micro-batch -1)" "$program" check "$work/t.csv"
table 0F0,0F1,1F0,0B0 1F1,1B0,1B1
ends 1 "a stage on two ranks" "stage-on-two-ranks (rank 1, stage 1, micro-batch 1)" "$program" check "$work/t.csv"
table 0F0,0BW0 1F0,1B0,1W0
ends 0 "old letters" "BW: PyTorch's old letters" "$program" check "$work/t.csv"
table 0F0,0B0,0W0 1F0,1B0,1W0
ends 0 "old letters without BW" "PyTorch's old letters: B is read as the input gradient" "$program" check "$work/t.csv"
table "# weft-table 1 ranks=3" 0F0,0B0
ends 1 "rows that the first line promises" "wrong-ranks" "$program" check "$work/t.csv"
table 0F0,0SEND_F0,0RECV_B0,0B0 1F0,1RECV_F0,1B0,1SEND_B0
ends 1 "a receive behind its use" "receive-after-use (rank 1, stage 1, micro-batch 0)" "$program" check "$work/t.csv"
table 0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1 1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1
ends 0 "1F1B with sends that do not block" "legal with rendezvous" "$program" check "$work/t.csv"
ends 1 "1F1B with sends that block" "deadlock" "$program" check "$work/t.csv" --sends blocking
table "# weft-table 1 asynchronous=1 versions=2" 0F0,0F1,0B0,0STEP,0B1,0STEP 1F0,1B0,1STEP,1F1@1,1B1@1,1STEP
ends 0 "weights with versions" "legal" "$program" check "$work/t.csv"
table "# weft-table 1 asynchronous=1" 0F0,0B0,0STEP,0F1,0B1@1,0STEP
ends 1 "old weights that are not kept" "wrong-version (rank 0, stage 0, micro-batch 1)" "$program" check "$work/t.csv"
table "" 0F0,0B0
ends 0 "an idle rank is an empty line" "2 ranks, 1 stage, 1 micro-batch, 2 actions" "$program" check "$work/t.csv"

# --- no tables at all: one line; status 2
: >"$work/none"
ends 2 "empty file" "is empty" "$program" check "$work/none"
ends 2 "no file" "No such file" "$program" check "$work/no-such-file"
ends 2 "a folder" "directory" "$program" check "$work"
if [ "$(id -u)" -ne 0 ]; then
  table 0F0,0B0
  chmod 000 "$work/t.csv"
  ends 2 "a file that may not be read" "ermission denied" "$program" check "$work/t.csv"
  rm -f "$work/t.csv"
fi
head -c 5000 /dev/urandom >"$work/binary" && printf '\0' >>"$work/binary"
ends 2 "binary" "is not text" "$program" check "$work/binary"
ends 2 "no end" "is not text" "$program" check /dev/zero
head -c 20000000 /dev/zero | tr '\0' ',' >"$work/commas"
ends 2 "20 MB of commas" "no rows" "$program" check "$work/commas"
ends 2 "a gigabyte of commas" "larger than 32 MiB" bash -c 'head -c 1000000000 /dev/zero | tr "\0" "," | "$0" check -' "$program"
table 0F99999999999999999999999999
ends 2 "a micro-batch that overflows" "number-too-large" "$program" check "$work/t.csv"
table 99999999999999999999999999F0
ends 2 "a stage that overflows" "number-too-large" "$program" check "$work/t.csv"
table 0F1048576
ends 1 "one cell that promises a million" "missing-forward" "$program" check "$work/t.csv"
seq -f '%gF1048576' 0 199 >"$work/t.csv"
ends 1 "200 million passes that are not there" "missing-forward" "$program" check "$work/t.csv"
table "$(head -c 3000000 /dev/zero | tr '\0' 'x')"
ends 2 "one cell of 3 MB" "no-stage-number" "$program" check "$work/t.csv"
table "0F0,0Q0"
ends 2 "a letter that is none" "unknown-action (rank 0, stage 0, micro-batch 0)" "$program" check "$work/t.csv"
table "# weft-table 2" 0F0,0B0
ends 2 "a format of the future" "no known format" "$program" check "$work/t.csv"
table "# weft-table 1 color=red" 0F0,0B0
ends 2 "an unknown key" "color=red" "$program" check "$work/t.csv"
table "# weft-table 1" 0F0@300,0B0
ends 2 "a version that is none" "no version of the weights" "$program" check "$work/t.csv"

# --- wrong arguments: one line; status 2
ends 2 "no command" "subcommand" "$program"
ends 2 "an unknown schedule" "there is no schedule of this name" "$program" show pipe-dream-9 --ranks 2 --micro-batches 2
ends 2 "no ranks" "--ranks is required" "$program" show 1f1b --micro-batches 2
ends 2 "ranks that overflow" "--ranks" "$program" show 1f1b --ranks 99999999999999 --micro-batches 2
ends 2 "negative ranks" "--ranks: -1" "$program" show 1f1b --ranks -1 --micro-batches 2
ends 2 "no micro-batch" "--micro-batches: 0" "$program" show 1f1b --ranks 2 --micro-batches 0
ends 2 "far too many" "use fewer" "$program" show 1f1b --ranks 4096 --micro-batches 2000000000
ends 2 "chunks that are too many" "use fewer" "$program" show interleaved-1f1b --ranks 2 --micro-batches 2 --chunks 2000000000
ends 2 "a rule" "use an even number of ranks" "$program" show dualpipe --ranks 3 --micro-batches 8
ends 2 "no chunks" "leave chunks out" "$program" show 1f1b --ranks 2 --micro-batches 2 --chunks 3
ends 2 "an unknown format" "use text, csv, svg, trace or json" "$program" show 1f1b --ranks 2 --micro-batches 2 --format png
ends 2 "PyTorch has no copies" "--strict-pytorch: 'chimera' has two copies" "$program" show chimera --ranks 2 --micro-batches 2 --format csv --strict-pytorch
ends 2 "PyTorch has no pictures" "use it with --format csv" "$program" show 1f1b --ranks 2 --micro-batches 2 --strict-pytorch
ends 2 "a duration that is none" "--forward" "$program" time 1f1b --ranks 2 --micro-batches 2 --forward nan
ends 2 "a negative hop" "--hop" "$program" time 1f1b --ranks 2 --micro-batches 2 --hop -1
printf '1,1,1\n' >"$work/costs"
ends 2 "too few stages" "has 1 line of durations, and 2 are wanted" "$program" time 1f1b --ranks 2 --micro-batches 2 --per-stage "$work/costs"
printf '1,1,1\n1,x,1\n' >"$work/costs"
ends 2 "a cost that is none" "line 2" "$program" time 1f1b --ranks 2 --micro-batches 2 --per-stage "$work/costs"
ends 2 "an unknown send model" "use buffered, rendezvous, in-issue-order or blocking" "$program" check "$work/costs" --sends fast
ends 2 "a full disk" "standard output could not be written" bash -c '"$0" list >/dev/full' "$program"

# --- what others published
vectors=${WEFT_VECTORS_DIR:-}
if [ -z "$vectors" ]; then
  echo "WEFT_VECTORS_DIR is not set: published tables are not looked at"
else
  plain() { # plain FILE: passes alone
    grep -v '^#' "$1" | sed -E 's/[0-9]+SYNC//g; s/,+/,/g; s/^,//; s/,$//' | tr -d '\r'
  }
  while IFS=, read -r file schedule ranks chunks micro_batches _; do
    more=()
    case $schedule in
      gpipe | 1f1b | eager1f1b | chimera | dualpipe | dualpipev) name=$schedule ;;
      zb_h1)
        name=zb-h1
        [ "$ranks" -ne "$micro_batches" ] || continue # two orders are known
        ;;
      zbv_handcrafted) name=zb-v ;;
      interleaved) name=interleaved-1f1b more=(--chunks "$chunks") ;;
      interleaved_zb1p) name=interleaved-zb more=(--chunks "$chunks") ;;
      breadth_first) name=breadth-first more=(--chunks "$chunks") ;;
      looped_bfs) name=looped-bfs more=(--chunks "$chunks") ;;
      *) continue ;;
    esac
    "$program" show $name --ranks "$ranks" --micro-batches "$micro_batches" "${more[@]}" --format csv >"$work/t.csv" 2>&1
    same "published: $file" "$(plain "$vectors/$file")" "$(plain "$work/t.csv")"
  done <"$vectors/index.csv"
  "$program" show zb-v --ranks 2 --micro-batches 4 --format csv --lower >"$work/t.csv"
  same "published: posts of zb-v" "$(cat "$vectors/with_comms/zbv_p2_v2_m4.csv")" "$(cat "$work/t.csv")"
  "$program" show dualpipe-v --ranks 2 --micro-batches 4 --format csv --lower >"$work/t.csv"
  same "published: posts of dualpipe-v" "$(cat "$vectors/with_comms/dualpipev_p2_v2_m4.csv")" "$(cat "$work/t.csv")"
  "$program" show interleaved-zb --ranks 4 --micro-batches 8 --format csv --lower >"$work/t.csv"
  same "published: posts of interleaved-zb" "$(cat "$vectors/with_comms/interleaved_zb1p_p4_v2_m8.csv")" "$(cat "$work/t.csv")"
  for file in "$vectors"/*_p*.csv "$vectors"/with_comms/*.csv; do
    "$program" check "$file" >"$work/log" 2>&1 && right "legal: $(basename "$file")" || wrong "$(head -c 300 "$work/log")"
  done
  for file in "$vectors"/invalid/*.csv; do
    ends 1 "invalid: $(basename "$file")" "micro-batch" "$program" check "$file"
  done
fi
conclude
