#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check_packages.sh <source>: tools/packages.sh on machines that are made up: commands of another system stand in front.
set -u
source=$1
fake=$(mktemp -d)
trap 'rm -rf "$fake"' EXIT
failed=0

say_wrong() {
  printf '%s\n--- it said:\n%s\n---\n' "$1" "$2"
  failed=1
}

machine() { # machine <uid> <installed packages>: everything else is absent
  rm -rf "${fake:?}"/*
  for tool in bash cat grep head tail sed mktemp rm dirname; do ln -s "$(command -v $tool)" "$fake/$tool"; done
  printf '#!/bin/bash\necho %s\n' "$1" >"$fake/id"
  printf '#!/bin/bash\ncase " %s " in *" ${@: -1} "*) echo -n installed ;; *) exit 1 ;; esac\n' "$2" >"$fake/dpkg-query"
  printf '#!/bin/bash\necho "$*" >>%s/apt.log\n' "$fake" >"$fake/apt-get"
  chmod +x "$fake"/{id,dpkg-query,apt-get}
}

ask() { # ask <group>...: what weft_install_packages says, its status in $status
  said=$(PATH=$fake CXX='' WEFT_INCLUDE_FOLDERS=$fake/include bash -c \
    'source "$0/tools/packages.sh"; weft_install_packages "$@"' "$source" "$@" 2>&1)
  status=$?
}

everything="g++ cmake ninja-build libtrilinos-kokkos-dev libmpich-dev mpich libopenblas-dev"

machine 1000 "$everything"
ask build
[ "$status" = 0 ] || say_wrong "a user with every package was stopped" "$said"
[ -e "$fake/apt.log" ] && say_wrong "apt-get was called though nothing was missing" "$(cat "$fake/apt.log")"

machine 1000 "${everything/libopenblas-dev/}"
ask build tests
[ "$status" != 0 ] || say_wrong "a user without packages was let through" "$said"
grep -qxF '    sudo apt-get install --no-install-recommends libopenblas-dev doctest-dev libbenchmark-dev' <<<"$said" ||
  say_wrong "a user was not given the one line to run" "$said"
[ -e "$fake/apt.log" ] && say_wrong "apt-get was called by a user" "$(cat "$fake/apt.log")"

machine 0 "${everything/cmake/}"
ask build
[ "$status" = 0 ] || say_wrong "root's installation failed" "$said"
[ "$(head -n 1 <<<"$said")" = "weft: about to install with apt-get: cmake" ] ||
  say_wrong "root was not told beforehand what is installed" "$said"
grep -q 'install --no-install-recommends cmake$' "$fake/apt.log" || say_wrong "apt-get was not asked for cmake" "$(cat "$fake/apt.log")"

machine 0 "${everything/cmake/}"
printf '#!/bin/bash\necho "E: no such package"; exit 100\n' >"$fake/apt-get"
ask build
[ "$status" != 0 ] && grep -q 'E: no such package' <<<"$said" || say_wrong "a failure of apt-get was hidden" "$said"

machine 1000 "${everything/g++/}"
rm "$fake/apt-get"
ask build
[ "$status" != 0 ] && grep -q 'no apt-get; install what these Debian packages hold' <<<"$said" ||
  say_wrong "a system without apt was not told what to install" "$said"

machine 1000 "$everything"
printf '#!/bin/bash\n[ "$1" = -dumpversion ] && echo 11 || echo "c++ (Ubuntu) 11.4.0"\n' >"$fake/c++"
chmod +x "$fake/c++"
ask build
grep -q 'recommends g++-12$' <<<"$said" || say_wrong "g++ 11 was taken for new enough" "$said"

machine 1000 "${everything/libmpich-dev mpich/}"
for tool in mpicxx mpiexec; do printf '#!/bin/bash\n' >"$fake/$tool"; chmod +x "$fake/$tool"; done
ask build
[ "$status" = 0 ] || say_wrong "another MPI than MPICH's package was not accepted" "$said"

[ "$failed" = 0 ] && echo "packages.sh says and does what it should"
exit "$failed"
