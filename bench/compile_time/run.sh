#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What proving plans costs the compiler:
#
#     bench/compile_time/run.sh              seconds, memory and counts of every case
#     bench/compile_time/run.sh --gate       counts alone, against the limits below; exit status 1 where one is above
#
# Seconds depend on the machine and are printed only. Counts do not, and CI gates on them:
#   steps    of the largest constant, as g++ counts them for -fconstexpr-ops-limit (g++ alone)
#   made     template instantiations, from clang's -ftime-trace (clang alone; left out where there is none)
# CXX chooses the g++, CLANG the clang.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gate=
[ "${1:-}" = --gate ] && gate=1
cxx=${CXX:-g++}
clang=${CLANG:-$(command -v clang++-19 || command -v clang++ || true)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# name | source | most steps of one constant, in thousands | most instantiations
cases=(
  "headers alone|constexpr int nothing = 0;|12|3900"
  "1f1b 16 x 64|use<one_f_one_b, 16, 64>|5500|4100"
  "1f1b 16 x 256|use<one_f_one_b, 16, 256>|5500|4100"
  "1f1b 16 x 4096|use<one_f_one_b, 16, 4096>|5500|4100"
  "zb-h1 16 x 256|use<zero_bubble_h1, 16, 256>|6700|4100"
  "1f1b 4 x any|all<one_f_one_b, 4>|560|4100"
  "1f1b 16 x any|all<one_f_one_b, 16>|5500|4100"
  "gpipe 16 x 64, direct|use<gpipe, 16, 64>|3800|4200"
  "1f1b 16 x 256, table|played<one_f_one_b, 16, 256>|14500|3900"
)

source_of() {
  cat <<EOT
#include <weft/plan/plan.hpp>
using namespace weft;
using namespace weft::schedule;
template <class Policy, int Ranks, int Count>
constexpr bool use = plan<Policy, pipeline_ranks<Ranks>, micro_batches<Count>>::report.ranks == Ranks;
template <class Policy, int Ranks>
constexpr bool all = plan<Policy, pipeline_ranks<Ranks>, micro_batches<dynamic>>::proved_for_all_micro_batches;
template <class Policy, int Ranks, int Count>
constexpr bool played = play(write_table<Policy>(Ranks, Count).view()).playable();
EOT
  case $1 in
    constexpr*) echo "$1" ;;
    *) echo "static_assert($1);" ;;
  esac
}

flags=(-std=c++20 -fsyntax-only -fmax-errors=1 -I "$root/include")
is_gcc=
"$cxx" --version | grep -qi 'clang' || is_gcc=1

compiles_within() { # compiles_within <thousand steps>
  "$cxx" "${flags[@]}" -fconstexpr-ops-limit="$(($1 * 1000))" -fconstexpr-loop-limit=10000000 "$dir/case.cpp" 2>"$dir/log"
}

steps() { # thousand steps of the largest constant, to 2 %
  local low=0 high=4
  until compiles_within "$high"; do
    [ "$high" -lt 10000000 ] || { cat "$dir/log" >&2; return 1; }
    low=$high
    high=$((high * 2))
  done
  while [ $((high - low)) -gt 1 ] && [ $(((high - low) * 50)) -gt "$high" ]; do
    local middle=$(((low + high) / 2))
    if compiles_within "$middle"; then high=$middle; else low=$middle; fi
  done
  echo "$high"
}

instantiations() {
  "$clang" -std=c++20 -c -o "$dir/case.o" -I "$root/include" -fconstexpr-steps=100000000 -ftime-trace="$dir/trace.json" \
    -ftime-trace-granularity=0 "$dir/case.cpp" || return 1
  grep -o '"name":"Instantiate\(Class\|Function\)"' "$dir/trace.json" | wc -l || true
}

seconds() { # user seconds and MiB, the best of three
  local best=
  for _ in 1 2 3; do
    { /usr/bin/time -f "%U %M" "$cxx" "${flags[@]}" -fconstexpr-ops-limit=1000000000 -fconstexpr-loop-limit=10000000 \
      "$dir/case.cpp"; } 2>"$dir/time"
    best=$({ [ -z "$best" ] || echo "$best"; tail -n 1 "$dir/time"; } | sort -n | head -n 1)
  done
  awk '{ printf "%6.2f s %5d MiB", $1, $2 / 1024 }' <<<"$best"
}

failed=0
"$cxx" --version | head -n 1
for each in "${cases[@]}"; do
  IFS='|' read -r name source most_steps most_made <<<"$each"
  source_of "$source" >"$dir/case.cpp"
  line=$(printf '%-24s' "$name")
  if [ -n "$gate" ]; then
    if [ -n "$is_gcc" ]; then
      if compiles_within "$most_steps"; then line+="  steps <= ${most_steps}k"; else
        line+="  steps > ${most_steps}k  TOO MANY"
        failed=1
      fi
    fi
  else
    line+="  $(seconds)"
    [ -z "$is_gcc" ] || line+=$(printf '  %7sk steps (limit %sk)' "$(steps)" "$most_steps")
  fi
  if [ -n "$clang" ]; then
    made=$(instantiations)
    line+=$(printf '  %6d made (limit %d)' "$made" "$most_made")
    if [ -n "$gate" ] && [ "$made" -gt "$most_made" ]; then
      line+="  TOO MANY"
      failed=1
    fi
  fi
  echo "$line"
done
exit "$failed"
