# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/device/common.sh: what the compile checks of both vendors share. Sourced by cuda.sh and hip.sh, which say how one
# source is compiled and how kernels are read out of an object.
#
# A table of kernels has a line for each: registers, scalar registers (- where there are none), bytes of stack, spilled
# to memory (bytes on CUDA, vector registers on HIP), functor. It is kept as kernels_<architecture>.txt, for a reader to compare.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
vendor=$(basename "$0" .sh)
jobs=${WEFT_JOBS:-$(nproc)}

say() { printf '[%s] %s\n' "$vendor" "$*"; }
fail() {
  say "FAILED: $*"
  exit 1
}
lack() {
  say "NOT CHECKED: $*"
  exit 75
}

# One list for both vendors: every source of these folders but the one that must be refused, and the main of the checks.
device_sources() {
  find "$here/sources" "$here/checks" -name '*.cpp' ! -name refused.cpp | sort
  echo "$root/tests/support/main.cpp"
}

compile_all() { # compile_all <folder>: `compile <source> <object>` for each, those that take long first; logs lie beside objects
  local source name status=0 folder=$1
  rm -rf "$folder"
  mkdir -p "$folder"
  while read -r source; do
    name=$(basename "$source" .cpp)
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
    {
      compile "$source" "$folder/$name.o" >"$folder/$name.log" 2>&1 || touch "$folder/$name.failed"
    } &
  done < <(device_sources | grep -E 'instances|stages' && device_sources | grep -vE 'instances|stages')
  wait
  for name in "$folder"/*.failed; do
    [ -e "$name" ] || continue
    status=1
    say "$(basename "$name" .failed).cpp:"
    grep -vE '^ptxas|^ +[0-9]+ bytes|remark:' "${name%.failed}.log" | head -n 30
  done
  [ "$status" -eq 0 ] || fail "the sources do not compile (logs in $folder)"
}

# tabulate: "<mangled> <registers> <scalar> <stack> <spilled>" to the table. Kokkos's driver names the functor:
# ...Parallel(For|Reduce)<FUNCTOR, Kokkos::RangePolicy<...>...>. A kernel that is compiled several times (for other
# launch bounds, or in several sources) has the largest figure of each kind.
tabulate() {
  c++filt | sed -E '
    s/^[^<]*<.*Parallel(For|Reduce|Scan)<//
    s/^Kokkos::Impl::CombinedFunctorReducer<//
    s/, Kokkos::(RangePolicy|TeamPolicy|MDRangePolicy|Impl::FunctorAnalysis).*( -?[0-9]+ [-0-9]+ [0-9]+ [0-9]+)$/\2/
    s/weft::v[0-9]+::/weft::/g
    s/Kokkos::View<([^<>,]+)[*](<[^<>]*>|[^<>])*>/View<\1*>/g
    s/Kokkos::Impl::[A-Za-z]*TeamMember/team/g
    s/ >/>/g' | awk '
    /^weft::/ {
      spilled = $NF; stack = $(NF - 1); scalar = $(NF - 2); registers = $(NF - 3)
      functor = $1
      for (part = 2; part <= NF - 4; ++part) functor = functor " " $part
      if (!(functor in most_registers)) { most_registers[functor] = most_scalar[functor] = -1 }
      if (registers + 0 > most_registers[functor]) most_registers[functor] = registers + 0
      if (scalar != "-" && scalar + 0 > most_scalar[functor]) most_scalar[functor] = scalar + 0
      if (stack + 0 > most_stack[functor]) most_stack[functor] = stack + 0
      if (spilled + 0 > most_spilled[functor]) most_spilled[functor] = spilled + 0
    }
    END {
      for (functor in most_registers)
        printf "%4d %4s %6d %6d  %s\n", most_registers[functor], \
               most_scalar[functor] < 0 ? "-" : most_scalar[functor], most_stack[functor], most_spilled[functor], functor
    }' | LC_ALL=C sort -k5
}

# Every functor of the headers that has a label, or is called with an index, must be among the kernels. tests/device/host_only.txt has those that
# no device runs.
check_none_forgotten() { # check_none_forgotten <table>
  local functor headers missing=0 expected=0
  mapfile -t headers < <(find "$root/include/weft" -name '*.hpp')
  while read -r functor; do
    expected=$((expected + 1))
    grep -qE "(::|<)$functor(<|>|,| |\$)" "$1" || {
      say "not compiled: $functor; instantiate it in a source of tests/device"
      missing=$((missing + 1))
    }
  done < <(awk '
    FNR == 1 { name = "" }
    /^ *\/\// { next }
    /^ *(struct|class) [a-z_0-9]+/ { match($0, /(struct|class) [a-z_0-9]+/); name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name) }
    /char const\* label =/ || /KOKKOS_(FORCE)?INLINE_FUNCTION void operator\(\)\(std::int64_t/ { if (name != "") print name }
  ' "${headers[@]}" | sort -u | grep -vxFf <(grep -v '^#' "$here/host_only.txt" | cut -d' ' -f1))
  [ "$expected" -gt 0 ] || fail "no functor was found in the headers"
  [ "$missing" -eq 0 ] || fail "$missing of $expected functors"
  say "all $expected functors of the headers are there"
}

# check_table <architecture> <table> <head>: against the list that the project keeps. A kernel that is gone fails, and a
# spill without a reason in spills.txt; other differences are shown. With --update the caller replaces the list by $out/kernels_<architecture>.txt.
check_table() {
  # shellcheck disable=SC2154 # out is the caller's
  local arch=$1 table=$2 kept="$here/kernels_$1.txt" new="$out/kernels_$1.txt" bad=0 line
  {
    printf '# SPDX-FileCopyrightText: 2026 The weft authors\n# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n#\n'
    printf '# kernels of weft, %s, %s\n' "$arch" "$3"
    printf '# registers, scalar registers, bytes of stack, spilled, functor; written by tests/device/%s.sh --update\n' "$vendor"
    cat "$table"
  } >"$new"
  while read -r line; do
    grep -qE "^($arch|any) +$(sed 's/[][*.()+?{}|\\^$]/\\&/g' <<<"$line") +--- +[^ ]" "$here/spills.txt" || {
      say "$arch: $line spills, and tests/device/spills.txt has no reason for it"
      bad=$((bad + 1))
    }
  done < <(awk '$4 > 0 { sub(/^ *[0-9]+ +[-0-9]+ +[0-9]+ +[0-9]+ +/, ""); print }' "$table")
  if [ "$update" = yes ]; then
    say "$arch: the list is written anew"
  elif [ ! -e "$kept" ]; then
    fail "there is no tests/device/kernels_$arch.txt; run tests/device/$vendor.sh --update and commit it"
  else
    local names='s/^ *[0-9]+ +[-0-9]+ +[0-9]+ +[0-9]+ +//'
    while read -r line; do
      say "$arch: $line is gone; if that is meant, run tests/device/$vendor.sh --update"
      bad=$((bad + 1))
    done < <(comm -23 <(grep -v '^#' "$kept" | sed -E "$names" | LC_ALL=C sort) <(sed -E "$names" "$table" | LC_ALL=C sort))
    diff -u --label kept "$kept" --label now "$new" | grep -E '^[-+] *[0-9]' |
      sed "s/^/[$vendor] $arch differs from the list: /" || true
  fi
  say "$arch: $(wc -l <"$table") kernels of weft, $(awk '$4 > 0' "$table" | wc -l) of them spill"
  [ "$bad" -eq 0 ] || fail "$arch: $bad complaints"
}

# check_open_symbols <known> <regular expression> <object>...: what the objects leave open must be known, or of a library
# that is allowed by name.
check_open_symbols() {
  local known=$1 allowed=$2
  shift 2
  nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }' >>"$known"
  printf '%s\n' _GLOBAL_OFFSET_TABLE_ __dso_handle atexit >>"$known"
  LC_ALL=C sort -u -o "$known" "$known"
  nm -u "$@" | awk 'NF == 2 && $1 == "U" { print $2 }' | LC_ALL=C sort -u | comm -23 - "$known" | c++filt | sort -u >"$out/open"
  # The host's BLAS is asked for its name, wherever stages live.
  sed -i -E '/^(cblas|openblas)_/d' "$out/open"
  if grep -vE "$allowed" "$out/open" >"$out/foreign"; then
    head -n 20 "$out/foreign"
    fail "symbols that neither Kokkos's own library, the vendor, MPI nor the system define"
  fi
  [ -s "$out/open" ] || fail "no symbol of Kokkos is open, which cannot be; the check is broken"
  say "$(wc -l <"$out/open") open symbols, all of Kokkos's own library"
}

# A kernel that calls a host function must be refused; the same without the call must compile.
check_refused() { # check_refused <folder>
  compile "$here/sources/refused.cpp" "$1/refused.o" >"$1/good.log" 2>&1 || {
    cat "$1/good.log"
    fail "refused.cpp does not compile without its host call"
  }
  if compile "$here/sources/refused.cpp" "$1/refused.o" -DWEFT_TEST_HOST_CALL >"$1/bad.log" 2>&1; then
    fail "a kernel that calls a host function was accepted"
  fi
  grep -q 'only_the_host_has_this' "$1/bad.log" || {
    cat "$1/bad.log"
    fail "the host call was refused for another reason"
  }
  say "a kernel that calls a host function is refused"
}

# The preset of the vendor must configure with this Kokkos, and hand its flag against contraction to the device's half.
check_preset() { # check_preset <flag> <folder of Kokkos_Core.hpp> <argument of cmake>...
  local flag=$1 kokkos_folder=$2
  shift 2
  rm -rf "$out/preset"
  (cd "$root" && cmake --preset "$vendor" -B "$out/preset" "-DKokkos_ROOT=$here/kokkos_overlay" -Dweft_BUILD_BENCH=OFF \
    "-Dweft_OVERLAY_BACKEND=${vendor^^}" "-Dweft_OVERLAY_KOKKOS=$kokkos_folder" "$@") >"$out/preset.log" 2>&1 || {
    tail -n 20 "$out/preset.log"
    fail "the preset $vendor does not configure"
  }
  grep -E 'checks/instances' "$out/preset/compile_commands.json" | grep -q -e "$flag" ||
    fail "the preset $vendor does not compile kernels with $flag"
  say "the preset $vendor configures"
}

update=no
[ "${1:-}" != --update ] || { update=yes && shift; }
