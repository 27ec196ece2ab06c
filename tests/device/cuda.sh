#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/device/cuda.sh: compiles every kernel of weft to sm_90 machine code. No GPU is needed; nothing runs.
#
# Needs nvcc with cuBLAS's headers, and Kokkos's headers with the CUDA backend: an installed Kokkos 5, or Debian's
# libkokkos-dev, which is downloaded (0.6 MB, and 11 MB of package index) and unpacked, not installed; the overlay beside
# this script turns its host-only configuration into one for CUDA.
#
# Checks: the code compiles, with calls of host functions in kernels as errors; every functor that the headers launch is
# among the kernels; each is in the machine code; the objects leave open only what Kokkos's own library, CUDA, the BLAS
# libraries and the system define; and a kernel that calls a host function is refused.
# Writes <build>/device/cuda_kernels.txt: every kernel with its registers, stack and spills.
#
# Exit: 0 good, 1 a check failed, 75 a tool could not be had and nothing was checked.
# Environment: WEFT_BUILD_DIR (build), WEFT_KOKKOS_INCLUDE (folder of Kokkos_Core.hpp), WEFT_CUDA_ARCH (sm_90).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WEFT_BUILD_DIR:-$root/build}/device
arch=${WEFT_CUDA_ARCH:-sm_90}
cache=${XDG_CACHE_HOME:+$XDG_CACHE_HOME/weft}
cache=${cache:-$out}
mkdir -p "$out" "$cache"

say() { printf '[cuda] %s\n' "$*"; }
fail() { say "FAILED: $*"; exit 1; }
lack() {
  say "NOT CHECKED: $*"
  exit 75
}

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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() { # compile <source> <object or ptx> [flag]...
  local source=$1 target=$2
  shift 2
  "$nvcc" -std=c++20 -x cu --extended-lambda "-arch=$arch" --fmad=false -Werror cross-execution-space-call \
    -Xcompiler -ffp-contract=off -I"$root/include" -isystem "$here/kokkos_cuda_overlay" -isystem "$kokkos" \
    "$@" "$here/$source" -o "$target"
}

# --- compile ----------------------------------------------------------------------------------------------------------
for real in float double; do
  mkdir -p "$work/$real"
  compile cuda_kernels.cu "$work/$real.o" -c "-DWEFT_TEST_REAL=$real" -Xptxas -v --keep --keep-dir "$work/$real" \
    >"$out/cuda_$real.log" 2>&1 &
  eval "job_$real=\$!"
done
compiled=yes
for real in float double; do
  job=job_$real
  wait "${!job}" || {
    grep -vE '^ptxas|^ +[0-9]+ bytes' "$out/cuda_$real.log" | head -n 40
    compiled=no
  }
done
[ "$compiled" = yes ] || fail "the kernels do not compile for $arch (logs in $out)"

# --- kernels, their registers and spills ------------------------------------------------------------------------------
cat "$out/cuda_float.log" "$out/cuda_double.log" | awk '
  /Compiling entry function/ { match($0, /_Z[A-Za-z0-9_]+/); name = substr($0, RSTART, RLENGTH) }
  /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); print name, substr($0, RSTART + 5, RLENGTH - 5), stack, stores, loads }
' | sort -u >"$work/mangled"
[ -s "$work/mangled" ] || fail "the compiler listed no kernel"
: >"$work/names"
for real in float double; do
  for cubin in "$work/$real"/*.cubin; do
    readelf -sW "$cubin" | awk '$4 == "FUNC" { print $NF }' >>"$work/names"
  done
done
while read -r name _; do
  grep -qxF "$name" "$work/names" || fail "no machine code for $(c++filt "$name")"
done <"$work/mangled"
# Kokkos::Impl::...ParallelFor<FUNCTOR, Kokkos::RangePolicy<...>...>: FUNCTOR is what one wants to read. Reductions have
# ParallelReduce<Kokkos::Impl::CombinedFunctorReducer<FUNCTOR, ...>...>.
while read -r name registers stack stores loads; do
  functor=$(c++filt "$name" | sed -E 's/.*Parallel(For|Reduce|Scan)<//; s/^Kokkos::Impl::CombinedFunctorReducer<//; s/, Kokkos::(RangePolicy|Impl::FunctorAnalysis).*//; s/weft::v[0-9]+::/weft::/g')
  case $functor in weft::*) printf '%4d %6d %6d %6d  %s\n' "$registers" "$stack" "$stores" "$loads" "$functor" ;; esac
done <"$work/mangled" | sed -E 's/Kokkos::View<([a-z ]+)[*].*/View<\1*>>/' | sort -k5 -u >"$work/table"
{
  printf '# kernels of weft, %s, Kokkos %s, %s\n' "$arch" "${version:-?}" "$("$nvcc" --version | grep -o 'V[0-9.]*$')"
  printf '# registers, bytes of stack, spilled stores, spilled loads, functor\n'
  cat "$work/table"
} >"$out/cuda_kernels.txt"
cat "$out/cuda_kernels.txt"
say "$(wc -l <"$work/table") kernels of weft, $(($(wc -l <"$work/mangled") - $(wc -l <"$work/table"))) of Kokkos's copies and fills"

# --- none forgotten: every struct with operator()(std::int64_t) of these folders ------------------------------------------
missing=0
expected=0
while read -r functor; do
  expected=$((expected + 1))
  grep -qE "::$functor(<| |\$)" "$work/table" || {
    say "not compiled: $functor; instantiate it in cuda_kernels.cu"
    missing=$((missing + 1))
  }
done < <(awk '
  /^ *(struct|class) [a-z_0-9]+/ { match($0, /(struct|class) [a-z_0-9]+/); name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name) }
  /KOKKOS_(FORCE)?INLINE_FUNCTION void operator\(\)\(std::int64_t/ { print name }
' "$root"/include/weft/{execution,parameters,model,train}/*.hpp | sort -u)
[ "$expected" -gt 0 ] || fail "no functor was found in the headers"
[ "$missing" -eq 0 ] || fail "$missing of $expected functors"
say "all $expected functors of execution, parameters, model and train are there"

# --- open symbols -------------------------------------------------------------------------------------------------------
defined() { nm -D --defined-only "$1" 2>/dev/null | awk '{ print $NF }' | sed 's/@.*//'; }
{
  for library in libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1; do
    path=$(g++ -print-file-name="$library")
    [ -e "$path" ] || fail "$library was not found"
    defined "$path"
  done
  for library in libcudart.so libcublas.so; do
    path=$(ls "$toolkit"/lib64/$library* "$toolkit"/targets/*/lib/$library* 2>/dev/null | head -n 1 || true)
    [ -n "$path" ] || lack "$library was not found in $toolkit"
    defined "$path"
  done
  nm --defined-only "$toolkit"/lib64/libcudart_static.a 2>/dev/null | awk '{ print $NF }'
  printf '%s\n' _GLOBAL_OFFSET_TABLE_ __dso_handle atexit
  nm --defined-only "$work/float.o" "$work/double.o" | awk '{ print $NF }'
} | sort -u >"$work/known"
nm -u "$work/float.o" "$work/double.o" | awk 'NF == 2 { print $2 }' | sort -u | comm -23 - "$work/known" | c++filt | sort -u >"$work/open"
# The host's BLAS is asked for its name, wherever stages live.
sed -i -E '/^(cblas|openblas)_/d' "$work/open"
if grep -vE '^((vtable|typeinfo|typeinfo name|VTT|guard variable) for )?(Kokkos|desul)::' "$work/open" >"$work/foreign"; then
  head -n 20 "$work/foreign"
  fail "symbols that neither Kokkos, CUDA, cuBLAS nor the system define"
fi
[ -s "$work/open" ] || fail "no symbol of Kokkos is open, which cannot be; the check is broken"
say "$(wc -l <"$work/open") open symbols, all of Kokkos's own library"

# --- a host call in a kernel --------------------------------------------------------------------------------------------
compile cuda_refused.cu "$work/good.ptx" -ptx >"$work/good.log" 2>&1 || {
  cat "$work/good.log"
  fail "cuda_refused.cu does not compile without its host call"
}
if compile cuda_refused.cu "$work/bad.ptx" -ptx -DWEFT_TEST_HOST_CALL >"$work/bad.log" 2>&1; then
  fail "a kernel that calls a host function was accepted"
fi
grep -q 'only_the_host_has_this' "$work/bad.log" || {
  cat "$work/bad.log"
  fail "the host call was refused for another reason"
}
say "a kernel that calls a host function is refused"
say "PASSED; the list is in $out/cuda_kernels.txt"
