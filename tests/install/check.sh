#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check.sh <source> <build> <cmake> <c++> <generator> <version>: installs weft, moves the installation, and uses it.
set -euo pipefail
source=$1 build=$2 cmake=$3 compiler=$4 generator=$5 version=$6
here=$source/tests/install
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$cmake" --install "$build" --prefix "$place/first" >"$place/install.log"
# An installation that knows its own place would break here.
mv "$place/first" "$place/prefix"

[ -f "$place/prefix/include/weft/config.hpp" ] || { echo "no headers were installed"; exit 1; }
if grep -rlF -e "$source" -e "$build" "$place/prefix"; then
  echo "the files above name the source or build folder"
  exit 1
fi

configure() {  # configure <folder> <argument>...
  "$cmake" -S "$here/$1" -B "$place/$1" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
    "${@:2}" >"$place/$1.log" 2>&1
}

build_and_run() {  # build_and_run <folder> <argument>...
  configure "$@" || { cat "$place/$1.log"; echo "$1: configure failed"; exit 1; }
  "$cmake" --build "$place/$1" >"$place/$1.log" 2>&1 || { cat "$place/$1.log"; echo "$1: build failed"; exit 1; }
  "$place/$1/consumer" || { echo "$1: the program failed"; exit 1; }
}

refused() {  # refused <folder> <words> <argument>...
  rm -rf "${place:?}/$1"
  if configure "$1" "${@:3}"; then echo "$1: configured, but must not with ${*:3}"; exit 1; fi
  grep -qF -- "$2" <(tr -s ' \n' ' ' <"$place/$1.log") || { cat "$place/$1.log"; echo "$1: did not say: $2"; exit 1; }
}

prefix=-DCMAKE_PREFIX_PATH=$place/prefix
build_and_run pure "$prefix" "-DWANTED=$version" -DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
build_and_run full "$prefix"
build_and_run subdirectory "-DWEFT_SOURCE=$source"
refused pure 'requested version "99.0"' "$prefix" -DWANTED=99.0
refused pure 'component looms: this weft was installed without it' "$prefix" -DWANTED=0.1 -DCOMPONENT=looms
refused full 'component kokkos: Kokkos was not found' "$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON
echo "installed, moved, and used by three consumers"
