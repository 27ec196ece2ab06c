#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/device/cuda.sh [--update]: compiles every device source of weft to sm_90 machine code. No GPU is needed; nothing
# runs.
#
# Needs nvcc with cuBLAS's headers, MPI's headers, and Kokkos's headers with the CUDA backend: an installed Kokkos 5, or
# Debian's libkokkos-dev, which is downloaded (0.6 MB, and 11 MB of package index) and unpacked, not installed; the overlay
# beside this script turns its host-only configuration into one for CUDA.
#
# Checks: the code compiles, with calls of host functions in kernels as errors; every functor that the headers launch is
# among the kernels, and each is in the machine code; none is gone from tests/device/kernels_sm_90.txt, none spills without
# a reason in spills.txt; the objects leave open only what Kokkos's own library, CUDA, the BLAS libraries and the system
# define; and a kernel that calls a host function is refused. With --update the list is written anew.
#
# Exit: 0 good, 1 a check failed, 75 a tool could not be had and nothing was checked.
# Environment: WEFT_BUILD_DIR (build), WEFT_KOKKOS_INCLUDE (folder of Kokkos_Core.hpp), WEFT_CUDA_ARCH (sm_90), WEFT_JOBS.
set -euo pipefail
# shellcheck source=tests/device/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
out=${WEFT_BUILD_DIR:-$root/build}/device
arch=${WEFT_CUDA_ARCH:-sm_90}
cache=${XDG_CACHE_HOME:+$XDG_CACHE_HOME/weft}
cache=${cache:-$out}
begin=$SECONDS
mkdir -p "$out" "$cache"

# --- tools ------------------------------------------------------------------------------------------------------------
nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || { [ -x /usr/local/cuda/bin/nvcc ] && nvcc=/usr/local/cuda/bin/nvcc; }
[ -n "$nvcc" ] || lack "no nvcc; install the CUDA toolkit (12.2 or later) or put it on PATH"
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
[ -e "$toolkit/include/cublas_v2.h" ] || lack "no cublas_v2.h in $toolkit/include; install cuBLAS"
for tool in nm c++filt readelf awk; do
  command -v "$tool" >/dev/null || lack "no $tool; install binutils and awk"
done

has_cuda_headers() { [ -e "$1/Kokkos_Core.hpp" ] && [ -e "$1/fwd/Kokkos_Fwd_CUDA.hpp" ]; }

download_kokkos() { # into $cache/kokkos-dev: Debian's libkokkos-dev of sid, through an apt of our own
  command -v apt-get >/dev/null || lack "no Kokkos 5 headers and no apt-get; set WEFT_KOKKOS_INCLUDE"
  local mirror apt="$out/apt"
  # The machine's own mirror, whichever it is.
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | sort -u |
    grep -m1 '/debian/*$' || true)
  [ -n "$mirror" ] || lack "this machine's apt sources name no Debian mirror; set WEFT_KOKKOS_INCLUDE"
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/none"
  echo "deb $mirror sid main" >"$apt/sources.list"
  # The index may be past its own expiry date; signatures are checked all the same.
  cat >"$apt/apt.conf" <<EOF
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "$apt/none";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "";
EOF
  say "downloading Debian's libkokkos-dev (headers alone; nothing is installed)"
  (
    cd "$apt"
    export APT_CONFIG=$apt/apt.conf
    apt-get -q update && apt-get -q download libkokkos-dev && dpkg -x libkokkos-dev_*.deb root
  ) >"$out/download.log" 2>&1 || {
    tail -n 5 "$out/download.log"
    lack "libkokkos-dev could not be downloaded"
  }
  rm -rf "$cache/kokkos-dev"
  mv "$apt/root/usr/include/kokkos" "$cache/kokkos-dev"
  rm -rf "$apt"
}

kokkos=${WEFT_KOKKOS_INCLUDE:-}
if [ -z "$kokkos" ]; then
  for candidate in /usr/include/kokkos "$cache/kokkos-dev"; do
    if has_cuda_headers "$candidate"; then kokkos=$candidate && break; fi
  done
fi
[ -n "$kokkos" ] || { download_kokkos && kokkos=$cache/kokkos-dev; }
has_cuda_headers "$kokkos" || lack "$kokkos has no Kokkos headers with the CUDA backend"
version=$(awk '$1 == "#define" && $2 == "KOKKOS_VERSION" { print $3 }' "$kokkos/KokkosCore_config.h")
say "$("$nvcc" --version | grep -o 'release [0-9.]*'), Kokkos ${version:-?}, $arch"

mpi=$(mpicxx -show 2>/dev/null | grep -o '[-]I[^ ]*' | tr '\n' ' ' || true)
[ -n "$mpi" ] || lack "no mpicxx; install libmpich-dev"

# Each object's pieces lie in a folder of its own: two sources may not share them.
compile() { # compile <source> <object> [flag]...
  local source=$1 target=$2
  shift 2
  mkdir -p "$target.pieces"
  # shellcheck disable=SC2086 # include flags
  "$nvcc" -std=c++20 -x cu --extended-lambda --expt-relaxed-constexpr "-arch=$arch" --fmad=false \
    -Werror cross-execution-space-call -Xptxas -v --keep --keep-dir "$target.pieces" -Xcompiler -ffp-contract=off \
    -DWEFT_TEST_KOKKOS -I"$root/include" -I"$root/tests" -isystem "$here/kokkos_overlay" -isystem "$kokkos" ${mpi//-I/-isystem } \
    "$@" -c "$source" -o "$target"
}

compile_all "$out/objects"
say "compiled in $((SECONDS - begin)) s"

# --- kernels, their registers and spills ------------------------------------------------------------------------------
cat "$out"/objects/*.log | awk '
  /Compiling entry function/ { match($0, /_Z[A-Za-z0-9_]+/); name = substr($0, RSTART, RLENGTH) }
  /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); print name, substr($0, RSTART + 5, RLENGTH - 5), "-", stack, spilled }
' | LC_ALL=C sort -u >"$out/mangled"
[ -s "$out/mangled" ] || fail "the compiler listed no kernel"
for cubin in "$out"/objects/*.pieces/*.cubin; do
  readelf -sW "$cubin" | awk '$4 == "FUNC" { print $NF }'
done | LC_ALL=C sort -u >"$out/names"
cut -d' ' -f1 "$out/mangled" | LC_ALL=C sort -u | comm -23 - "$out/names" | c++filt >"$out/without_code"
[ ! -s "$out/without_code" ] || fail "no machine code for $(head -n 1 "$out/without_code")"
rm -rf "$out"/objects/*.pieces
# Kokkos passes a functor that is too large for that by constant memory, which the host fills and waits for: such a launch
# cannot be part of a graph (docs/decisions/0012).
grep -E 'parallel_launch_(constant|global)_memory.*weft' "$out/mangled" | c++filt >"$out/not_by_arguments" || true
[ ! -s "$out/not_by_arguments" ] || fail "the functor is too large for a kernel's arguments: $(head -n 1 "$out/not_by_arguments")"
tabulate <"$out/mangled" >"$out/table_$arch"
check_none_forgotten "$out/table_$arch"
check_table "$arch" "$out/table_$arch" "nvcc $("$nvcc" --version | grep -o 'V[0-9.]*$'), Kokkos ${version:-?}"
[ "$update" = no ] || cp "$out/kernels_$arch.txt" "$here/"

# --- open symbols -------------------------------------------------------------------------------------------------------
defined() { nm -D --defined-only "$1" 2>/dev/null | awk '{ print $NF }' | sed 's/@.*//'; }
for library in libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1; do
  path=$(g++ -print-file-name="$library")
  [ -e "$path" ] || fail "$library was not found"
  defined "$path"
done >"$out/known"
for library in libcudart.so libcublas.so libnccl.so; do
  # shellcheck disable=SC2012 # the first of two places
  path=$(ls "$toolkit"/lib64/$library* "$toolkit"/targets/*/lib/$library* /usr/lib/*/$library* 2>/dev/null | head -n 1 || true)
  [ -n "$path" ] || { [ "$library" = libnccl.so ] && continue; }
  [ -n "$path" ] || lack "$library was not found in $toolkit"
  defined "$path"
done >>"$out/known"
nm --defined-only "$toolkit"/lib64/libcudart_static.a 2>/dev/null | awk '{ print $NF }' >>"$out/known"
check_open_symbols "$out/known" '^((vtable|typeinfo|typeinfo name|VTT|guard variable) for )?(Kokkos|desul)::|^nccl[A-Z]|^MPIX?_' "$out"/objects/*.o

check_refused "$out"
if command -v cmake >/dev/null && command -v ninja >/dev/null; then
  # In the place of Kokkos's wrapper of nvcc, which is not among its headers: nothing is compiled here but CMake's own tests.
  mkdir -p "$out/bin"
  # shellcheck disable=SC2016 # the wrapper's own
  printf '%s\n' '#!/bin/sh' 'for each; do shift; [ "$each" = --fmad=false ] || set -- "$@" "$each"; done' 'exec g++ "$@"' \
    >"$out/bin/nvcc_wrapper"
  chmod +x "$out/bin/nvcc_wrapper"
  check_preset --fmad=false "$kokkos" "-DCMAKE_CXX_COMPILER=$out/bin/nvcc_wrapper"
fi
say "PASSED in $((SECONDS - begin)) s; the list is in $out/kernels_$arch.txt"
