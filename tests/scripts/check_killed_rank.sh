#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kills one rank of a running examples/mini_llm/run.sh: the run must end non-zero within 10 seconds and say why.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
runner=
trap '[ -z "$runner" ] || kill "$runner" 2>/dev/null; rm -rf "$work"' EXIT

ranks() { # the processes of this build's mini_llm
  local link
  for link in /proc/[0-9]*/exe; do
    [ "$(readlink "$link" 2>/dev/null)" = "$root/build/bin/mini_llm" ] && basename "$(dirname "$link")"
  done
}

[ -z "$(ranks)" ] || { echo "another mini_llm of this build is running"; exit 1; }
"$root/examples/mini_llm/run.sh" --steps 1000000 --out "$work/out" >"$work/log" 2>&1 &
runner=$!

# Training has begun once the first losses are written.
for ((tenths = 0; tenths < 1200; ++tenths)); do
  [ -s "$work/out/losses.csv" ] && [ "$(ranks | wc -l)" -ge 2 ] && break
  kill -0 "$runner" 2>/dev/null || break
  sleep 0.1
done
mapfile -t victims < <(ranks)
if [ "${#victims[@]}" -lt 2 ]; then
  cat "$work/log"
  echo "the run never had two ranks"
  exit 1
fi

kill -KILL "${victims[1]}"
begin=$(date +%s)
status=0
wait "$runner" || status=$?
runner=
took=$(($(date +%s) - begin))
tail -n 5 "$work/log"
if [ "$status" -eq 0 ]; then echo "the run ended with status 0 though a rank was killed"; exit 1; fi
if [ "$took" -gt 10 ]; then echo "the run took $took s to end"; exit 1; fi
if ! tail -n 1 "$work/log" | grep -q 'signal 9 (KILL)'; then echo "the last line does not name the signal"; exit 1; fi
if [ -n "$(ranks)" ]; then echo "ranks are left behind: $(ranks | tr '\n' ' ')"; exit 1; fi
echo "ended with status $status within $took s, and said why"
