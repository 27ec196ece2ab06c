#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check_layers.sh <include folder>: what the compiler cannot see about the headers of weft.
#   * a folder is a layer and includes only itself and what stands above it in the list below;
#   * a pure layer includes neither Kokkos, nor MPI, nor a BLAS, nor a vendor's header;
#   * every header has its SPDX lines and #pragma once, and no template parameter of one letter.
set -u
root=${1:?"usage: check_layers.sh <include folder>"}

layers=(concepts topology schedule collective plan execution transport profiling parameters pipeline model train)
pure=" concepts topology schedule collective plan "
base=" config error detail "
vendor='<(mpi\.h|Kokkos_|cblas|cuda|cublas|hip/|hipblas|rocblas|nccl|rccl|nvtx|roctx)'
# Tags apart from their colons, or tools would read them as this file's own.
licence_tag=SPDX-License-Identifier
copyright_tag=SPDX-FileCopyrightText

position() {  # of a layer in the list, -1 for the base headers
  local index
  case "$base" in *" $1 "*) echo -1; return ;; esac
  for index in "${!layers[@]}"; do
    [ "${layers[index]}" = "$1" ] && { echo "$index"; return; }
  done
  echo none
}

layer_of() {  # weft/schedule/op.hpp and weft/schedule.hpp are both of the layer schedule
  local path=${1#weft/}
  path=${path%%/*}
  echo "${path%.hpp}"
}

faults=0
fault() {
  printf '%s\n' "$*"
  faults=$((faults + 1))
}

count=0
while IFS= read -r file; do
  name=${file#"$root"/}
  count=$((count + 1))
  grep -q "$licence_tag: Apache-2.0 WITH LLVM-exception" "$file" || fault "$name: no SPDX licence line"
  grep -q "$copyright_tag:" "$file" || fault "$name: no SPDX copyright line"
  grep -q '^#pragma once$' "$file" || fault "$name: no #pragma once"
  while IFS= read -r line; do
    fault "$name:$line: template parameter of one letter; it collides with users' macros"
  done < <(grep -nE 'template ?<[^>]*\b(int|auto|bool|class|typename|std::size_t|unsigned|long) [A-Z]\b' "$file")

  [ "$name" = weft/weft.hpp ] && continue
  layer=$(layer_of "$name")
  mine=$(position "$layer")
  if [ "$mine" = none ]; then
    fault "$name: '$layer' is not in the list of layers; add it to $(basename "$0") and to the design, in its place"
    continue
  fi
  while IFS= read -r included; do
    other=$(layer_of "$included")
    theirs=$(position "$other")
    if [ "$included" = weft/weft.hpp ] || [ "$theirs" = none ] || [ "$theirs" -gt "$mine" ]; then
      fault "$name: includes <$included>; ${layer} sees only what stands above it: ${layers[*]}"
    fi
  done < <(sed -nE 's/^ *# *include *[<"](weft\/[^>"]+)[>"].*/\1/p' "$file")
  case "$pure $base" in
    *" $layer "*)
      while IFS= read -r line; do
        fault "$name:$line: a pure layer includes no Kokkos, MPI, BLAS or vendor's header"
      done < <(grep -nE "^ *# *include *$vendor" "$file")
      ;;
  esac
done < <(find "$root/weft" -name '*.hpp' | sort)

[ "$count" -gt 0 ] || fault "no header under $root/weft"
if [ "$faults" -gt 0 ]; then
  echo "$faults fault(s) in $count headers"
  exit 1
fi
echo "$count headers keep to the layers"
