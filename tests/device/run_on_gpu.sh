#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/device/run_on_gpu.sh [argument of device_checks]...
#
# Everything of weft that wants a card, on a machine that has one: finds the card, finds or builds a Kokkos for it, builds
# the device checks and mini_llm, runs them, and runs the checks once more under compute-sanitizer where that is there.
# Ends with "run_on_gpu.sh: N passed, N failed" and a status that is 0 only if none failed. A second run rebuilds nothing.
#
#   WEFT_DEVICE          cuda, hip, or host (the same steps with a Kokkos for the host); default: what is found
#   WEFT_DEVICE_ARCH     Kokkos's name of the architecture, such as HOPPER90 or AMD_GFX942; default: the card's
#   Kokkos_ROOT          an installed Kokkos for the card; default: one is built
#   WEFT_KOKKOS_SOURCE   a source tree of Kokkos 4 or 5 to build from; default: fetched by git
#   WEFT_BUILD_DIR       default: build-<device>
#   WEFT_JOBS            how many compilers at once; default: the number of cores
#   WEFT_CONFIGURE_ARGS  more arguments for cmake
#
# Needs CMake, Ninja or Make, a C++20 compiler, doctest; nvcc 12.2 or later, or hipcc of ROCm 6 or later with hipBLAS; for
# mini_llm also MPI and the headers of examples/mini_llm/run.sh, without which it is left out and said so.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD

passed=0
failed=0
say() { printf '[gpu] %s\n' "$*"; }
stop() {
  say "$*"
  echo "run_on_gpu.sh: $passed passed, $((failed + 1)) failed"
  exit 1
}
check() { # check <what> <command>...: one of those that are counted
  local what=$1 status=0
  shift
  "$@" </dev/null || status=$?
  if [ "$status" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  say "$what: $([ "$status" -eq 0 ] && echo passed || echo "FAILED (status $status)")"
}

# --- the card -----------------------------------------------------------------------------------------------------------
device=${WEFT_DEVICE:-}
if [ -z "$device" ]; then
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    device=cuda
  elif command -v rocm_agent_enumerator >/dev/null && rocm_agent_enumerator 2>/dev/null | grep -q 'gfx[1-9]'; then
    device=hip
  else
    stop "no card: neither nvidia-smi nor rocm_agent_enumerator sees one; WEFT_DEVICE=host runs the same steps without"
  fi
fi
arch=${WEFT_DEVICE_ARCH:-}
case $device in
  cuda)
    command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
    command -v nvcc >/dev/null || stop "no nvcc; install the CUDA toolkit or put it on PATH"
    if [ -z "$arch" ]; then
      capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1)
      case $capability in
        7.0) arch=VOLTA70 ;; 7.5) arch=TURING75 ;; 8.0) arch=AMPERE80 ;; 8.6) arch=AMPERE86 ;; 8.9) arch=ADA89 ;;
        9.0) arch=HOPPER90 ;; 10.0) arch=BLACKWELL100 ;; 12.0) arch=BLACKWELL120 ;;
        *) stop "the card's compute capability is '$capability'; set WEFT_DEVICE_ARCH to Kokkos's name for it" ;;
      esac
    fi
    say "$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || echo 'no card seen'), $arch, $(nvcc --version | grep -o 'release [0-9.]*')"
    ;;
  hip)
    command -v hipcc >/dev/null || PATH=$PATH:/opt/rocm/bin
    command -v hipcc >/dev/null || stop "no hipcc; install ROCm or put it on PATH"
    if [ -z "$arch" ]; then
      gfx=$(rocm_agent_enumerator | grep -m1 'gfx[1-9]')
      arch=AMD_${gfx^^}
    fi
    say "$arch, $(hipcc --version | head -n 1)"
    ;;
  host) arch=none && say "no card: the host's Kokkos" ;;
  *) stop "WEFT_DEVICE is '$device'; give cuda, hip or host" ;;
esac

jobs=${WEFT_JOBS:-$(nproc)}
build=${WEFT_BUILD_DIR:-build-$device}
mkdir -p "$build"
build=$(cd "$build" && pwd)
generator=(-G Ninja)
command -v ninja >/dev/null || generator=(-G "Unix Makefiles")

# --- Kokkos -------------------------------------------------------------------------------------------------------------
kokkos=${Kokkos_ROOT:-}
if [ -z "$kokkos" ] && [ "$device" != host ]; then
  kokkos=$build/kokkos-install
  if [ ! -e "$kokkos/weft-$arch" ]; then
    source=${WEFT_KOKKOS_SOURCE:-$build/kokkos-source}
    if [ ! -e "$source/CMakeLists.txt" ]; then
      command -v git >/dev/null || stop "no git to fetch Kokkos with; set WEFT_KOKKOS_SOURCE to a source tree"
      git clone -q --depth 1 --branch 4.6.01 https://github.com/kokkos/kokkos.git "$source" ||
        stop "Kokkos could not be fetched; set WEFT_KOKKOS_SOURCE to a source tree, or Kokkos_ROOT to an installed one"
    fi
    say "building Kokkos for $arch from $source (log: $build/kokkos.log)"
    settings=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DKokkos_ENABLE_SERIAL=ON "-DKokkos_ARCH_$arch=ON"
      "-DCMAKE_INSTALL_PREFIX=$kokkos")
    case $device in
      cuda) settings+=(-DKokkos_ENABLE_CUDA=ON "-DCMAKE_CXX_COMPILER=$source/bin/nvcc_wrapper") ;;
      hip) settings+=(-DKokkos_ENABLE_HIP=ON -DCMAKE_CXX_COMPILER=hipcc) ;;
    esac
    { cmake "${generator[@]}" -S "$source" -B "$build/kokkos-build" "${settings[@]}" &&
      cmake --build "$build/kokkos-build" --parallel "$jobs" --target install; } >"$build/kokkos.log" 2>&1 || {
      tail -n 20 "$build/kokkos.log"
      stop "Kokkos could not be built"
    }
    touch "$kokkos/weft-$arch"
  fi
fi

# --- weft ---------------------------------------------------------------------------------------------------------------
preset=$device
settings=()
case $device in
  cuda) settings+=(-Dweft_ENABLE_CUDA=ON "-DCMAKE_CXX_COMPILER=$kokkos/bin/nvcc_wrapper") ;;
  hip) settings+=(-Dweft_ENABLE_HIP=ON -DCMAKE_CXX_COMPILER=hipcc) ;;
  host) preset=default ;;
esac
[ -z "$kokkos" ] || settings+=("-DKokkos_ROOT=$kokkos")

configure() { # configure <folder> <argument of cmake>...
  local folder=$1
  shift
  mkdir -p "$folder"
  # shellcheck disable=SC2086 # the caller's arguments
  cmake "${generator[@]}" -B "$folder" "$@" "${settings[@]}" ${WEFT_CONFIGURE_ARGS:-} >"$folder/configure.log" 2>&1 || {
    tail -n 20 "$folder/configure.log"
    stop "cmake could not configure (log: $folder/configure.log)"
  }
}
configure "$build/checks" -S tests/device/standalone
cmake --build "$build/checks" --parallel "$jobs" --target device_checks || stop "the device checks do not build"
checks=$build/checks/device_checks

# --- run ----------------------------------------------------------------------------------------------------------------
# Ranks are threads of one process here, and share the one card.
export WEFT_SHARE_DEVICES=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1
for source in tests/device/checks/check_*.cpp; do
  check "$(basename "$source" .cpp)" "$checks" "--source-file=*$(basename "$source")" "$@"
done
sanitizer=$(command -v compute-sanitizer || true)
if [ "$device" = cuda ] && [ -n "$sanitizer" ]; then
  for source in gradients sums training; do
    check "memcheck of check_$source" "$sanitizer" --tool memcheck --error-exitcode 9 "$checks" \
      "--source-file=*check_$source.cpp"
  done
  check "racecheck of check_gradients" "$sanitizer" --tool racecheck --error-exitcode 9 "$checks" \
    "--source-file=*check_gradients.cpp"
  check "initcheck of check_sums" "$sanitizer" --tool initcheck --error-exitcode 9 "$checks" \
    "--source-file=*check_sums.cpp"
elif [ "$device" = cuda ]; then
  say "NOT RUN: compute-sanitizer is not here"
fi

has_examples=yes
command -v mpiexec >/dev/null || has_examples=no
find /usr/include /usr/local/include -name cblas.h 2>/dev/null | grep -q . || has_examples=no
for header in CLI/CLI.hpp nlohmann/json.hpp toml++/toml.h xxhash.h; do
  [ -e "/usr/include/$header" ] || [ -e "/usr/local/include/$header" ] || has_examples=no
done
if [ "$has_examples" = yes ]; then
  configure "$build" --preset "$preset" -Dweft_BUILD_TESTS=OFF -Dweft_BUILD_BENCH=OFF
  cmake --build "$build" --parallel "$jobs" --target mini_llm || stop "mini_llm does not build"
  mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:FILEPATH=//p' "$build/CMakeCache.txt")
  flags=()
  if "$mpiexec" --version 2>&1 | grep -qE 'Open MPI|OpenRTE|PRRTE|prte'; then
    flags=(--oversubscribe)
    [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
  fi
  trains() { # trains <folder> <ranks> <option>...
    local folder=$build/runs/$1 ranks=$2
    shift 2
    rm -rf "$folder"
    "$mpiexec" "${flags[@]}" -n "$ranks" "$build/bin/mini_llm" --data "$root/docs" --steps 20 --warmup 5 --out "$folder" "$@"
  }
  # The losses of each step, without the columns that tell times.
  losses() { cut -d, -f1,2 "$build/runs/$1/losses.csv"; }
  same() { diff <(losses "$1") <(losses "$2"); }
  check "mini_llm on one rank" trains one 1
  check "mini_llm on one rank, again" trains again 1
  check "the same losses" same one again
  check "mini_llm on two ranks that share the card" trains two 2
  check "the same losses on two ranks" same one two
else
  say "NOT RUN: mini_llm, which needs MPI, a BLAS for the host, CLI11, nlohmann-json, toml++ and xxhash"
fi
echo "run_on_gpu.sh: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
