# shellcheck shell=bash
# shellcheck disable=SC2034  # groups are read by composed names, purposes by people
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the run scripts: finds out which Debian or Ubuntu packages are missing, says so, and installs them where it
# may. Names are those of Debian 12 and 13 and Ubuntu 22.04 and 24.04.
#
#   weft_install_packages build examples tests     # groups; returns non-zero when something is missing and stays so
#   weft_pick_compiler                             # exports CXX where the plain c++ is too old for C++20

# Where headers count as present without a package; the tests of this file point it elsewhere.
weft_include_folders=${WEFT_INCLUDE_FOLDERS:-/usr/local/include}

# package|how to tell without dpkg that it is not needed|what for
weft_packages_build='
g++|command:c++ clang++|the compiler
cmake|command:cmake|the build
ninja-build|command:ninja|the build
libtrilinos-kokkos-dev|variable:Kokkos_ROOT Kokkos_DIR|Kokkos
libmpich-dev|command:mpicxx|MPI
mpich|command:mpiexec|the launcher of MPI
libopenblas-dev|variable:CBLAS_ROOT|BLAS'
weft_packages_examples='
nlohmann-json3-dev|header:nlohmann/json.hpp|JSON files
libcli11-dev|header:CLI/CLI.hpp|options
libtomlplusplus-dev|header:toml++/toml.h|configuration files
libxxhash-dev|header:xxhash.h|checksums'
weft_packages_tests='
doctest-dev|header:doctest/doctest.h|the tests
libbenchmark-dev|header:benchmark/benchmark.h|the benchmarks'

weft_have_package() { # weft_have_package <package> <probe>
  local kind=${2%%:*} names=${2#*:} name folder
  if command -v dpkg-query >/dev/null && [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; then
    return 0
  fi
  for name in $names; do
    case $kind in
      command) command -v "$name" >/dev/null && return 0 ;;
      variable) [ -n "${!name:-}" ] && return 0 ;;
      header) for folder in $weft_include_folders; do [ -e "$folder/$name" ] && return 0; done ;;
    esac
  done
  return 1
}

weft_missing_packages() { # weft_missing_packages <group>...: one package a line
  local group package probe purpose list
  for group in "$@"; do
    list=weft_packages_$group
    while IFS='|' read -r package probe purpose; do
      [ -n "$package" ] || continue
      weft_have_package "$package" "$probe" || printf '%s\n' "$package"
    done <<<"${!list}"
  done
  # Ubuntu 22.04's plain g++ is 11.
  if [ -z "${CXX:-}" ] && [ -n "$(weft_old_compiler)" ] && ! command -v g++-12 >/dev/null; then printf 'g++-12\n'; fi
}

weft_old_compiler() { # prints the version of a c++ that is a g++ older than 12, or nothing
  local version
  command -v c++ >/dev/null || return 0
  c++ --version 2>/dev/null | head -n 1 | grep -qiE 'clang|icpx' && return 0
  version=$(c++ -dumpversion 2>/dev/null) || return 0
  version=${version%%.*}
  if [ "${version:-12}" -lt 12 ] 2>/dev/null; then printf '%s\n' "$version"; fi
}

weft_pick_compiler() {
  if [ -z "${CXX:-}" ] && [ -n "$(weft_old_compiler)" ] && command -v g++-12 >/dev/null; then
    export CXX=g++-12
    echo "weft: c++ is g++ $(weft_old_compiler), too old for C++20; using g++-12"
  fi
}

weft_install_packages() {
  local missing log
  mapfile -t missing < <(weft_missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "weft: every package that is needed is here"
    return 0
  fi
  if ! command -v apt-get >/dev/null; then
    echo "weft: this system has no apt-get; install what these Debian packages hold, then run this again:" >&2
    echo "    ${missing[*]}" >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "weft: these packages are missing, and only root may install them; run this line, then this script again:" >&2
    echo "    sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi
  echo "weft: about to install with apt-get: ${missing[*]}"
  log=$(mktemp)
  if { apt-get -q update || echo "apt-get update failed; trying with the lists that are here"; } >"$log" 2>&1 &&
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends \
      "${missing[@]}" >>"$log" 2>&1; then
    rm -f "$log"
    echo "weft: installed"
    return 0
  fi
  tail -n 20 "$log" >&2
  echo "weft: apt-get could not install the packages (its last lines are above, all of them in $log)" >&2
  return 1
}
