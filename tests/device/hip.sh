#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/device/hip.sh [--update]: compiles every device source of weft to machine code for gfx90a and gfx942. No GPU is
# needed; nothing runs.
#
# hipcc and Kokkos's headers come from Debian sid in the private root of tools/modern_root.sh, which this script completes
# by hipcc (62 MB to download) and, unpacked beside it, hipBLAS (0.3 MB: headers and the library itself; rocBLAS, 281 MB,
# is behind hipBLAS and not needed). The overlay beside this script turns Debian's Kokkos, configured for the host, into
# one for HIP.
#
# Checks: the code compiles, warnings are errors; every functor that the headers launch is among the kernels of both
# architectures; none is gone from tests/device/kernels_gfx*.txt, none spills without a reason in spills.txt; the objects
# leave open only what Kokkos's own library, HIP, hipBLAS and the system define; and a kernel that calls a host function
# is refused. With --update the lists are written anew.
#
# Exit: 0 good, 1 a check failed, 75 the root could not be had and nothing was checked.
# Environment: WEFT_JOBS (how many compilers at once), and what tools/modern_root.sh says.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  cd "$(dirname "$0")/../.."
  out=${WEFT_MODERN_OUT:-build/modern/out}
  export WEFT_MODERN_OUT=$out
  tools/modern_root.sh --hip run env "WEFT_JOBS=${WEFT_JOBS:-$(nproc)}" tests/device/hip.sh --inside "$@" || {
    status=$?
    [ "$status" -ne 75 ] || printf '[hip] NOT CHECKED: no device code for HIP was compiled, since its compiler cannot be had\n'
    exit "$status"
  }
  # The root sees this tree read-only.
  [ "${1:-}" != --update ] || cp "$out"/hip/kernels_gfx*.txt tests/device/
  exit 0
fi
shift
# shellcheck source=tests/device/common.sh
source tests/device/common.sh
out=/out/hip
mkdir -p "$out"
architectures=(gfx90a gfx942)
begin=$SECONDS

compile() { # compile <source> <object> [flag]...: both architectures at once; the host's half is not for running
  local source=$1 target=$2
  shift 2
  hipcc -std=c++20 -fno-gpu-rdc "${architectures[@]/#/--offload-arch=}" -Xarch_device -O3 -Xarch_host -O0 \
    -ffp-contract=off -Wall -Wextra -Werror -DWEFT_TEST_KOKKOS -I"$root/include" -I"$root/tests" -isystem "$here/kokkos_overlay" \
    -isystem /usr/include/kokkos -isystem /opt/weft-hip/usr/include -isystem "$mpi" "$@" -c "$source" -o "$target"
}
mpi=$(dirname "$(find /usr/lib /usr/include -path '*/mpich/*' -name mpi.h | head -n 1)")
llvm=$(hipconfig --hipclangpath)
say "$(hipcc --version | grep -o 'clang version [0-9.]*'), hipcc $(dpkg-query -W -f '${Version}' hipcc), Kokkos $(dpkg-query -W -f '${Version}' libkokkos-dev), ${architectures[*]}"

compile_all "$out/objects"
say "compiled in $((SECONDS - begin)) s"

for arch in "${architectures[@]}"; do
  for object in "$out"/objects/*.o; do
    # A source may have no kernel.
    (cd "$out/objects" && "$llvm/llvm-objdump" --offloading "$(basename "$object")") >/dev/null || true
    for image in "$object".*"$arch"; do
      [ -e "$image" ] || continue
      "$llvm/llvm-readelf" --notes "$image" | awk '
        /^ *- *\.agpr_count:/ { accumulators = $NF }
        /\.name: / && $NF ~ /^_Z/ { name = $NF }
        /\.private_segment_fixed_size:/ { stack = $NF }
        /\.sgpr_count:/ { scalar = $NF }
        /\.vgpr_count:/ { vector = $NF }
        /\.vgpr_spill_count:/ { print name, vector, scalar, stack, $NF }'
    done
  done | tabulate >"$out/table_$arch"
  rm -f "$out"/objects/*.o.*-*
  [ -s "$out/table_$arch" ] || fail "the objects hold no kernel for $arch"
  check_none_forgotten "$out/table_$arch"
done

for arch in "${architectures[@]}"; do
  check_table "$arch" "$out/table_$arch" "$(hipcc --version | grep -o 'clang version [0-9.]*'), Kokkos $(dpkg-query -W -f '${Version}' libkokkos-dev)"
done

for library in libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1 libamdhip64.so libmpich.so; do
  path=$(g++ -print-file-name="$library")
  [ -e "$path" ] || path=$(find /usr/lib -name "$library" | head -n 1)
  [ -e "$path" ] || fail "$library was not found"
  nm -D --defined-only "$path" | awk '{ print $NF }' | sed 's/@.*//'
done >"$out/known"
nm -D --defined-only /opt/weft-hip/usr/lib/x86_64-linux-gnu/libhipblas.so | awk '{ print $NF }' | sed 's/@.*//' >>"$out/known"
# hipcc's own: the registration of each object's device code.
printf '%s\n' __hip_fatbin __hip_gpubin_handle >>"$out/known"
check_open_symbols "$out/known" '^((vtable|typeinfo|typeinfo name|VTT|guard variable) for )?(Kokkos|desul)::|^nccl[A-Z]|^__hip_(fatbin|gpubin_handle)_' "$out"/objects/*.o

check_refused "$out"
check_preset -ffp-contract=off /usr/include/kokkos -Dhipblas_DIR=/opt/weft-hip/usr/lib/x86_64-linux-gnu/cmake/hipblas \
  -DCMAKE_PREFIX_PATH=/opt/weft-hip/usr
say "PASSED in $((SECONDS - begin)) s; the lists are in $out"
