#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shows that check_layers.sh finds what it is there to find: one clean tree, then one fault at a time.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
licence_tag=SPDX-License-Identifier
copyright_tag=SPDX-FileCopyrightText

header() {  # header <path> <line>...
  mkdir -p "$tree/weft/$(dirname "$1")"
  {
    echo "// $copyright_tag: 2026 The weft authors"
    echo "// $licence_tag: Apache-2.0 WITH LLVM-exception"
    echo '#pragma once'
    printf '%s\n' "${@:2}"
  } >"$tree/weft/$1"
}

clean() {
  rm -rf "$tree/weft"
  header config.hpp
  header topology/mesh.hpp '#include <weft/config.hpp>'
  header schedule/op.hpp '#include <weft/topology/mesh.hpp>'
  header execution/math.hpp '#include <Kokkos_Core.hpp>' '#include <weft/schedule/op.hpp>'
}

expect() {  # expect <words>: the checker must refuse the tree with these words
  local said
  if said=$(bash "$here/check_layers.sh" "$tree"); then
    echo "accepted, but should have said: $1"
    failed=1
  elif ! grep -qF -- "$1" <<<"$said"; then
    echo "refused without saying: $1"
    echo "$said"
    failed=1
  fi
}

clean
bash "$here/check_layers.sh" "$tree" >/dev/null || { echo "refused a clean tree"; failed=1; }
clean; header topology/mesh.hpp '#include <weft/schedule/op.hpp>'; expect 'topology sees only what stands above it'
clean; header schedule/op.hpp '#  include "weft/execution/math.hpp"'; expect 'schedule sees only what stands above it'
clean; header train/trainer.hpp '#include <weft/weft.hpp>'; expect 'includes <weft/weft.hpp>'
clean; header plan/plan.hpp '#include <mpi.h>'; expect 'a pure layer includes no Kokkos, MPI'
clean; header other/thing.hpp; expect 'is not in the list of layers'
clean; header schedule/op.hpp 'template <class T> struct thing;'; expect 'template parameter of one letter'
clean; echo 'int x;' >"$tree/weft/schedule/op.hpp"; expect 'no SPDX licence line'
clean; rm -r "$tree/weft"; mkdir "$tree/weft"; expect 'no header under'
[ "$failed" = 0 ] && echo "check_layers.sh finds every fault"
exit "$failed"
